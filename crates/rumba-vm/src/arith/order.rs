//! Comparisons of numbers that differ from lane to lane by constant steps. Such a comparison holds for all lanes before some lane, or for all
//! lanes from some lane on. The numbers of the first lane and the steps tell that lane, so no vectors are compared.

use crate::base::ir::{Element, Value, Writer};

/// Which of two integers is the smaller one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As numbers without a sign.
    Unsigned,
    /// As numbers with a sign.
    Signed,
}

/// The lanes of a group for which a comparison holds.
pub struct Truths {
    /// A bit of an integer of 32 bits for each lane.
    pub lanes: Value,
    /// Whether no operand wraps between lanes of the group. If an operand wraps, the comparison holds for other lanes.
    pub fits: Option<Value>,
}

/// Steps above this one are not followed: the distance of two lanes has far fewer bits than a number.
const MOST: u64 = 1 << 20;

/// Writes for which of so many lanes a number is less than another one, given both in the first lane, and their steps. Nothing where
/// numbers are short or steps long.
pub(super) fn less(w: &mut Writer, order: Order, x: [&Value; 2], steps: [i64; 2], lanes: usize) -> Option<Truths> {
    let [a, b] = x;
    let element = a.element();
    if element.bits() < 32 || steps.iter().any(|step| step.unsigned_abs() > MOST) {
        return None;
    }
    let [less, at_most] = match order {
        Order::Unsigned => ["icmp ult", "icmp ule"],
        Order::Signed => ["icmp slt", "icmp sle"],
    };
    let is_less = w.compare(less, a, b);
    let step = steps[0] - steps[1];
    let width = step.unsigned_abs();
    let all = u64::from(u32::MAX >> (32 - lanes));
    let [none, lanes_all] = [0, all].map(|bits| Value::integer(Element::I32, bits));
    let holds = if step == 0 {
        w.select(&is_less, &lanes_all, &none)
    } else {
        let zero = Value::integer(element, 0);
        // If `a - b` grows from lane to lane, the comparison holds for the lanes in which `a` has not yet reached `b`. If `a - b` shrinks,
        // the comparison fails for the lanes in which `a` has not yet fallen below `b`.
        let distance = if step > 0 { w.sub(b, a) } else { w.sub(a, b) };
        let most = Value::integer(element, width * lanes as u64);
        let distance = w.intrinsic("umin", &[&distance, &most]);
        let steps = if step > 0 { w.add_with(&distance, width - 1) } else { w.add_with(&distance, width) };
        let steps = w.binary_with("udiv", &steps, width);
        let steps = if step > 0 { w.select(&is_less, &steps, &zero) } else { w.select(&is_less, &zero, &steps) };
        let steps = w.extended(&steps, Element::I64);
        // The number of steps is at most the number of lanes and one.
        let ones = Value::integer(Element::I64, u64::MAX >> 1);
        let others = w.sub(&Value::integer(Element::I64, 63), &steps);
        let before = w.binary("lshr", &ones, &others);
        let before = w.bits_as(&before, Element::I32);
        let before = if step > 0 { before } else { w.xor_with(&before, u64::MAX) };
        w.and_with(&before, all)
    };
    let mut fits: Option<Value> = None;
    for (first, step) in x.into_iter().zip(steps).filter(|(_, step)| *step != 0) {
        let last = w.add_with(first, (step * (lanes as i64 - 1)).cast_unsigned());
        let [low, high] = if step > 0 { [first, &last] } else { [&last, first] };
        let here = w.compare(at_most, low, high);
        fits = Some(match fits {
            None => here,
            Some(fits) => w.and(&fits, &here),
        });
    }
    Some(Truths { lanes: holds, fits })
}
