#![no_std]
//! (under construction)
