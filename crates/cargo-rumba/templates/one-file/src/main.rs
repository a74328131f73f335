use rumba::prelude::*;

#[rumba::kernels]
mod kernels {
    use cuda_std::prelude::*;

    /// y = a x + y
    #[kernel]
    pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
        let i = grid::<1>();
        if let Some(y) = y.get_mut(i) {
            *y += a * x[i];
        }
    }
}

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.load(kernels::PTX)?;
    let (x, mut y) = ([1.0, 2.0, 3.0], [10.0; 3]);
    module.for_each(y.len(), kernels::saxpy(2.0, &x, &mut y))?;
    println!("{y:?} on {}", device.name());
    Ok(())
}
