//! Convolutions of images.
