//! What is known of a kernel's text, as bytes: they are kept with its code for later processes.

use crate::machine::program::{Layout, NO_ENTRY, NativeMetadata, Spread};

/// What is known of a text.
#[derive(Debug, PartialEq)]
pub(crate) struct Record {
    /// The hash of the text.
    pub(crate) text: [u8; 32],
    pub(crate) metadata: NativeMetadata,
}

/// A record as bytes.
pub(crate) fn encode(record: &Record) -> Vec<u8> {
    let Record { text, metadata } = record;
    let NativeMetadata { entry_at, layouts, sites, waits } = metadata;
    let mut words: Vec<_> = text.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    words.push(u64::from(*waits));
    let mut entries: Vec<(u32, u64)> = entry_at.iter().zip(0..).map(|(entry, index)| (*entry, index)).collect();
    entries.retain(|(entry, _)| *entry != NO_ENTRY);
    entries.sort_unstable();
    words.push(entries.len() as u64);
    words.extend(entries.iter().map(|(_, index)| *index));
    words.push(sites.len() as u64);
    words.extend(sites.iter().map(|bytes| u64::from(*bytes)));
    words.push(layouts.len() as u64);
    for layout in layouts {
        words.push(layout.len() as u64);
        for Spread { slot, is_wide, group, stride } in layout {
            words.push(u64::from(*slot) | u64::from(*is_wide) << 16 | u64::from(*group) << 32);
            words.push(stride.cast_unsigned());
        }
    }
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// The record in bytes, of a kernel with so many operations; nothing if the bytes are no record.
pub(crate) fn decode(bytes: &[u8], kernel_ops: usize) -> Option<Record> {
    let (words, []) = bytes.as_chunks() else { return None };
    let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
    let record = read(&mut words, kernel_ops)?;
    words.next().is_none().then_some(record)
}

fn read(words: &mut dyn Iterator<Item = u64>, kernel_ops: usize) -> Option<Record> {
    let mut text = [0; 32];
    for word in text.as_chunks_mut().0 {
        *word = words.next()?.to_le_bytes();
    }
    let waits = words.next()? != 0;
    let mut entry_at = vec![NO_ENTRY; kernel_ops].into_boxed_slice();
    for entry in 0..u32::try_from(words.next()?).ok()? {
        *entry_at.get_mut(usize::try_from(words.next()?).ok()?)? = entry;
    }
    let sites = (0..words.next()?).map(|_| u32::try_from(words.next()?).ok()).collect::<Option<_>>()?;
    let layouts = (0..words.next()?).map(|_| layout(words)).collect::<Option<_>>()?;
    Some(Record { text, metadata: NativeMetadata { entry_at, layouts, sites, waits } })
}

fn layout(words: &mut dyn Iterator<Item = u64>) -> Option<Layout> {
    let count = words.next()?;
    let spread = |_| {
        let (register, stride) = (words.next()?, words.next()?.cast_signed());
        Some(Spread { slot: register as u16, is_wide: register >> 16 & 1 != 0, group: (register >> 32) as u8, stride })
    };
    (0..count).map(spread).collect()
}

#[cfg(test)]
mod tests {
    use super::{Record, decode, encode};
    use crate::machine::program::{NO_ENTRY, NativeMetadata, Spread};

    #[test]
    fn records_are_read_as_they_were_written() {
        let spread = |slot, stride| Spread { slot, is_wide: slot > 9, group: 16, stride };
        let metadata = NativeMetadata {
            entry_at: [1, NO_ENTRY, NO_ENTRY, 0, NO_ENTRY].into(),
            layouts: [Box::from([]), Box::from([spread(3, -4), spread(u16::MAX, i64::MAX)])].into(),
            sites: [128, u32::MAX].into(),
            waits: true,
        };
        let record = Record { text: std::array::from_fn(|at| at as u8), metadata };
        let bytes = encode(&record);
        assert_eq!(decode(&bytes, 5), Some(record));
        // An entry beyond the kernel's end, and each other length.
        assert_eq!(decode(&bytes, 3), None);
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length], 5), None, "{length}");
        }
        assert_eq!(decode(&[&bytes[..], &[0; 8]].concat(), 5), None);
    }
}
