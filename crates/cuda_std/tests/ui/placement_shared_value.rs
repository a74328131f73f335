use cuda_std::address_space;
use cuda_std::shared::Storage;

#[address_space(shared)]
static WHERE: &u32 = &7;

#[address_space(shared)]
static CHOICES: [bool; 4] = [true; 4];

// These can be used with `unsafe` only.
#[address_space(shared)]
static mut TILE: [f32; 64] = [0.0; 64];

type Tile = Storage<[f32; 64]>;
#[address_space(shared)]
static STORAGE: Tile = Storage::uninit();

fn main() {}
