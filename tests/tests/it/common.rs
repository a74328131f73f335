//! Shared by several tests: texts without addresses.

/// The text without addresses, which have more than eight hexadecimal digits; masks have that many.
pub fn hide_addresses(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split("0x").enumerate() {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        match index {
            0 => out += part,
            _ if digits > 8 => out += &format!("0x…{}", &part[digits..]),
            _ => out += &format!("0x{part}"),
        }
    }
    out
}
