//! Convolutions as products whose left operand is gathered from the image (implicit products).
