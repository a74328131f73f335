//! Values as bytes, which pass between a program and the device. Both sides have the same release, so the bytes name no fields.

use rumba_checks::{Check, FindingKind, Severity};

use crate::check::{Explored, Finding, Inputs, Location, Options, Order, Schedule, Side};

/// A value that passes between a program and the device.
pub trait Wire: Sized {
    /// Appends the value's bytes.
    fn write(&self, to: &mut Vec<u8>);

    /// Takes a value from the front of bytes; `None` if none is there.
    fn read(from: &mut &[u8]) -> Option<Self>;

    /// The bytes of the value.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    /// The value of bytes; `None` if they are those of no value.
    fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        Self::read(&mut bytes).filter(|_| bytes.is_empty())
    }
}

macro_rules! numbers {
    ($($T:ty),*) => {$(
        impl Wire for $T {
            fn write(&self, to: &mut Vec<u8>) {
                to.extend(self.to_le_bytes());
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        }
    )*};
}

numbers!(u8, u32, u64);

impl Wire for bool {
    fn write(&self, to: &mut Vec<u8>) {
        u8::from(*self).write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        match u8::read(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Wire for String {
    fn write(&self, to: &mut Vec<u8>) {
        (self.len() as u64).write(to);
        to.extend(self.as_bytes());
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let length = usize::try_from(u64::read(from)?).ok()?;
        let (text, rest) = from.split_at_checked(length)?;
        *from = rest;
        Self::from_utf8(text.to_owned()).ok()
    }
}

impl<T: Wire> Wire for Option<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.is_some().write(to);
        if let Some(value) = self {
            value.write(to);
        }
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(if bool::read(from)? { Some(T::read(from)?) } else { None })
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        (self.len() as u64).write(to);
        self.iter().for_each(|value| value.write(to));
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        (0..u64::read(from)?).map(|_| T::read(from)).collect()
    }
}

impl Wire for [u32; 3] {
    fn write(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|value| value.write(to));
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some([u32::read(from)?, u32::read(from)?, u32::read(from)?])
    }
}

/// Enums without fields: the number of a value in the list of all.
macro_rules! choices {
    ($($T:ty: $all:expr;)*) => {$(
        impl Wire for $T {
            fn write(&self, to: &mut Vec<u8>) {
                let number = $all.iter().position(|value| value == self).expect("the list has all values");
                (number as u32).write(to);
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                $all.get(u32::read(from)? as usize).copied()
            }
        }
    )*};
}

choices! {
    Check: Self::ALL;
    FindingKind: Self::ALL;
    Severity: [Self::Info, Self::Warning, Self::Error];
}

/// Structures: their fields in this order.
macro_rules! structures {
    ($($T:ident { $($field:ident),* })*) => {$(
        impl Wire for $T {
            fn write(&self, to: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($field.write(to);)*
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: Wire::read(from)?),* })
            }
        }
    )*};
}

structures! {
    Options { checks, seed, order }
    Inputs { hash, are_changed }
    Schedule { replay, steps }
    Explored { schedule, is_left, has_more, orders, redundant, limits }
    Finding { kind, severity, what, why, advice, kernel, sides, message, address, place, count, seed }
    Side { block, thread, threads, action, locations, ptx, ptx_line, excerpt }
    Location { file, line, column, function }
}

impl Wire for Order {
    fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Next { is_first, orders, steps } => {
                0_u8.write(to);
                is_first.write(to);
                orders.write(to);
                steps.write(to);
            }
            Self::Replay { schedule, steps } => {
                1_u8.write(to);
                schedule.write(to);
                steps.write(to);
            }
        }
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        match u8::read(from)? {
            0 => Some(Self::Next { is_first: Wire::read(from)?, orders: Wire::read(from)?, steps: Wire::read(from)? }),
            1 => Some(Self::Replay { schedule: Wire::read(from)?, steps: Wire::read(from)? }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Wire;
    use crate::check::{Explored, Finding, Inputs, Options, Order, Schedule};
    use rumba_checks::{Check, FindingKind};
    use std::fmt::Debug;

    /// A value is read as it was written, and no part of its bytes is a value.
    fn passes(value: &(impl Wire + PartialEq + Debug)) {
        let bytes = value.to_bytes();
        assert_eq!(Wire::from_bytes(&bytes).as_ref(), Some(value));
        for end in 0..bytes.len() {
            fn is_none<T: Wire>(_: &T, bytes: &[u8]) -> bool {
                T::from_bytes(bytes).is_none()
            }
            assert!(is_none(value, &bytes[..end]), "{end} of {} bytes of {value:?}", bytes.len());
        }
    }

    #[test]
    fn values_pass_unchanged() {
        let panic = Finding::of_panic(Some("blur"), "é", ("a.rs", 1, 2), [[0, 1, 2], [3, 4, 5]], 6, Some(7));
        passes(&panic);
        passes(&Finding::of_schedules(None, 1, Some(2), u64::MAX));
        for order in [
            None,
            Some(Order::Next { is_first: true, orders: 1, steps: 2 }),
            Some(Order::Replay { schedule: "0.1".to_owned(), steps: 3 }),
        ] {
            passes(&Options { checks: Check::ALL.to_vec(), seed: 8, order });
        }
        let schedule = Schedule { replay: String::new(), steps: panic.sides };
        let limits = vec!["too long".to_owned()];
        passes(&Explored { schedule, is_left: true, has_more: false, orders: 9, redundant: 10, limits });
        passes(&Inputs { hash: 11, are_changed: true });
        FindingKind::ALL.iter().for_each(passes);
    }
}
