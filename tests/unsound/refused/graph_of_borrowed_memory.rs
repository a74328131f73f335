//! A future that outlives the memory that it is awaited for, and a graph whose stream outlives its recording by a reference.
use rumba::prelude::*;

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let mut kept = None;
    let graph = device.capture(|stream| {
        kept = Some(stream);
        Ok(())
    })?;
    let stream = device.stream()?;
    let done = {
        let buffer = device.zeros::<u32>(8)?;
        let mut host = vec![0_u32; 8];
        stream.launch_host_fn(|| host[0] = 1)?;
        buffer.slice(..)
    };
    println!("{} {} {}", graph.len(), done.len(), kept.is_some());
    Ok(())
}
