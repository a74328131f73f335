//! The brightness of a picture's pixels.

// ANCHOR: program
use image::{GrayImage, Rgb, RgbImage};
use kernels::brightness;
use rumba::prelude::*;

const PTX: &str = include_str!(env!("KERNELS_PTX"));

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    // `image::open("photo.png")?.to_rgb8()` reads a file.
    let photo = RgbImage::from_fn(640, 480, |x, y| Rgb([x as u8, y as u8, 128]));
    let (width, height) = photo.dimensions();

    let pixels = device.buffer_from(photo.as_raw())?;
    let mut grey = device.zeros::<u8>((width * height) as usize)?;
    let pixels = pixels.as_slice().cast::<[u8; 3]>();
    module.for_each(grey.len(), brightness(pixels, &mut grey))?;

    let grey = GrayImage::from_raw(width, height, grey.to_vec()?);
    let grey = grey.expect("there is a byte for each pixel");
    assert_eq!(grey.get_pixel(0, 0).0, [14]);
    assert_eq!(grey.get_pixel(100, 200).0, [161]);
    Ok(())
}
// ANCHOR_END: program
