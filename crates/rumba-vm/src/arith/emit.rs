//! Functions as native code: values are constants, or handles into a builder.

use std::cell::{Cell, RefCell};

use crate::arith::order::{self, Order, Truths};
use crate::arith::possible::{Known, PossibleBits, all};
use crate::arith::primitive::{Primitive, Write};
use crate::arith::scalar::Scalar;
use crate::arith::strides::{Steps, Stride, Strides, uniform};
use crate::arith::{Arith, Operands, V};
use crate::base::ir::{Element, Value, Writer};

/// The arithmetic of code that is being written.
#[derive(Clone, Copy)]
pub struct Emit<'b>(std::marker::PhantomData<&'b Builder>);

/// A value: a constant, or the result of an operation of a builder.
#[derive(Clone, Copy)]
pub enum Handle<'b, T> {
    /// A constant.
    Constant(T),
    /// A result.
    Result(&'b Builder, u32),
}

/// An operand, as a builder stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A constant with these bits.
    Constant(Element, u64),
    /// The result of the operation at this position.
    Result(u32),
}

/// The operands of an operation, not all of which are constants.
#[derive(Clone, Copy)]
pub struct Given<'b> {
    builder: Option<&'b Builder>,
    operands: [Operand; 4],
    count: u8,
}

impl<'b> Given<'b> {
    pub(super) fn new() -> Self {
        Self { builder: None, operands: [Operand::Constant(Element::I1, 0); 4], count: 0 }
    }

    /// Adds an operand; returns its number, if the operand is a constant.
    pub(super) fn take<T: Scalar>(&mut self, handle: Handle<'b, T>) -> T {
        let (operand, constant) = match handle {
            Handle::Constant(x) => (Operand::Constant(T::ELEMENT, x.to_word()), x),
            Handle::Result(builder, position) => {
                self.builder = Some(builder);
                (Operand::Result(position), T::from_word(0))
            }
        };
        self.operands[usize::from(self.count)] = operand;
        self.count += 1;
        constant
    }

    pub(super) fn is_known(&self) -> bool {
        self.builder.is_none()
    }
}

/// How a builder reads an operation.
#[derive(Clone, Copy)]
struct Readings {
    write: Write,
    possible_bits: PossibleBits,
    stride: Strides,
    order: Option<Order>,
}

/// What a builder has at a position.
enum Node {
    /// The function's operand at a position, of this type.
    Input { value: Value, element: Element, position: u8 },
    /// An operation.
    Operation {
        readings: Readings,
        /// The type of the result.
        element: Element,
        operands: [Operand; 4],
        count: u8,
        /// The operand that has the same bits, for an operation that takes bits as another type.
        source: Option<(Operand, Element)>,
    },
}

/// The operations of a function that is being written.
#[derive(Default)]
pub struct Builder {
    nodes: RefCell<Vec<Node>>,
    /// The operands of the function so far, constants among them.
    inputs: Cell<u8>,
}

impl<'b> Arith for Emit<'b> {
    type Of<T: Scalar> = Handle<'b, T>;

    fn constant<T: Scalar>(x: T) -> Handle<'b, T> {
        Handle::Constant(x)
    }

    // Functions are long sequences of these calls, and each is compiled for many types.
    #[inline(never)]
    fn apply<P: Primitive>(operands: <P::Operands as Operands>::Of<Self>) -> V<Self, P::Result> {
        V(match P::Operands::known(operands) {
            // Constants are folded by the native meaning.
            Ok(numbers) => Handle::Constant(P::native::<true>(numbers)),
            Err(given) => given.apply::<P>(),
        })
    }
}

impl<'b> Given<'b> {
    /// The result of an operation on these operands.
    fn apply<P: Primitive>(self) -> Handle<'b, P::Result> {
        let Some(builder) = self.builder else { unreachable!("constants are folded") };
        let operands = &self.operands[..usize::from(self.count)];
        let element = P::Result::ELEMENT;
        let readings =
            Readings { write: P::write, possible_bits: P::possible_bits, stride: P::stride, order: P::order() };
        let result = match (P::simplify(operands), P::REINTERPRETS) {
            (Some(operand), _) => operand,
            (None, Some(from)) => builder.reinterpret(readings, self, from, element),
            (None, None) => builder.push(readings, element, self, None),
        };
        match result {
            Operand::Constant(_, bits) => Handle::Constant(P::Result::from_word(bits)),
            Operand::Result(position) => Handle::Result(builder, position),
        }
    }
}

impl Builder {
    /// A builder without operations.
    pub fn new() -> Self {
        Self::default()
    }

    /// An operand of the function.
    #[inline(never)]
    pub fn input<T: Scalar>(&self, value: &Value) -> Handle<'_, T> {
        let position = self.inputs.replace(self.inputs.get() + 1);
        match value.number() {
            Some(bits) => Handle::Constant(T::from_word(bits)),
            None => {
                let node = Node::Input { value: value.clone(), element: T::ELEMENT, position };
                Handle::Result(self, self.add(node))
            }
        }
    }

    fn add(&self, node: Node) -> u32 {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(node);
        (nodes.len() - 1) as u32
    }

    fn push(
        &self,
        readings: Readings,
        element: Element,
        given: Given<'_>,
        source: Option<(Operand, Element)>,
    ) -> Operand {
        let Given { operands, count, .. } = given;
        Operand::Result(self.add(Node::Operation { readings, element, operands, count, source }))
    }

    /// Takes bits as another type; taken back, they are the operand that they came from.
    fn reinterpret(&self, readings: Readings, given: Given<'_>, from: Element, to: Element) -> Operand {
        let operand = given.operands[0];
        if from == to {
            return operand;
        }
        if let Operand::Result(position) = operand
            && let Node::Operation { source: Some((source, element)), .. } = self.nodes.borrow()[position as usize]
            && element == to
        {
            return source;
        }
        self.push(readings, to, given, Some((operand, from)))
    }

    /// Writes the operations on which results depend; returns these.
    pub fn finish<const N: usize>(&self, w: &mut Writer, results: [Operand; N]) -> [Value; N] {
        self.write(w, results, |_| false)
    }

    /// Writes the operations on which the result in the first lane depends, given the inputs of the first lane and how they differ from lane
    /// to lane. Returns the result.
    pub fn finish_first(&self, w: &mut Writer, result: Operand, steps: &Steps<'_>) -> Value {
        let known = self.follow(steps);
        let [first] = self.write(w, [result], |position| known[position].stride.is_some_and(|stride| stride.is_union));
        first
    }

    /// Writes for which lanes of a group a result is true that is a comparison, given the inputs of the first lane and how they differ from
    /// lane to lane. Nothing if it is none, or if its operands are no numbers with steps.
    pub fn finish_truths(&self, w: &mut Writer, result: Operand, steps: &Steps<'_>) -> Option<Truths> {
        let Operand::Result(position) = result else { return None };
        let (order, operands) = match &self.nodes.borrow()[position as usize] {
            Node::Operation { readings: Readings { order: Some(order), .. }, operands: [a, b, ..], .. } => {
                (*order, [*a, *b])
            }
            Node::Operation { .. } | Node::Input { .. } => return None,
        };
        let known = self.follow(steps);
        let steps_of =
            operands.map(|operand| known_of(operand, &known).stride.filter(|stride| stride.is_unconditional()));
        let [Some(a_stride), Some(b_stride)] = steps_of else { return None };
        let is_sum = |position: usize| known[position].stride.is_some_and(|stride| stride.is_union);
        let [a, b] = self.write(w, operands, is_sum);
        order::less(w, order, [&a, &b], [a_stride.step, b_stride.step], steps.others as usize + 1)
    }

    /// Writes operations; those for which `is_sum` returns true as sums of their operands.
    fn write<const N: usize>(
        &self,
        w: &mut Writer,
        results: [Operand; N],
        is_sum: impl Fn(usize) -> bool,
    ) -> [Value; N] {
        let nodes = self.nodes.borrow();
        let mut wanted = vec![false; nodes.len()];
        for result in results {
            if let Operand::Result(position) = result {
                wanted[position as usize] = true;
            }
        }
        for position in (0..nodes.len()).rev() {
            if let (true, Node::Operation { operands, count, .. }) = (wanted[position], &nodes[position]) {
                for operand in &operands[..usize::from(*count)] {
                    if let Operand::Result(operand) = operand {
                        wanted[*operand as usize] = true;
                    }
                }
            }
        }
        let mut values: Vec<Option<Value>> = Vec::with_capacity(nodes.len());
        for (position, (node, wanted)) in nodes.iter().zip(wanted).enumerate() {
            let value = wanted.then(|| match node {
                Node::Input { value, element, .. } => w.bits_as(value, *element),
                Node::Operation { readings: Readings { write, .. }, operands, count, .. } => {
                    let operands = operands[..usize::from(*count)].iter();
                    let operands: Vec<_> = operands.map(|operand| value_of(*operand, &values)).collect();
                    if is_sum(position) {
                        w.add(&operands[0], &operands[1])
                    } else if results.contains(&Operand::Result(position as u32)) {
                        write(w, &operands)
                    } else {
                        // Other operations may look at the bits of a NaN.
                        w.at_once(|w| write(w, &operands))
                    }
                }
            });
            values.push(value);
        }
        results.map(|result| value_of(result, &values))
    }

    /// What is known of a result, given how the inputs differ from lane to lane.
    pub fn known(&self, result: Operand, steps: &Steps<'_>) -> Known {
        known_of(result, &self.follow(steps))
    }

    /// What is known of the results of all operations.
    fn follow(&self, steps: &Steps<'_>) -> Vec<Known> {
        let mut found: Vec<Known> = Vec::new();
        for node in &*self.nodes.borrow() {
            let (element, bits, first, stride) = match node {
                Node::Input { value, element, position } => {
                    let (bits, number) = (value.possible_bits(), usize::from(*position));
                    let step = steps.steps.get(number);
                    let first = steps.firsts.get(number).copied().unwrap_or(u64::MAX);
                    // All lanes have the first lane's number then, or none of them counts.
                    let first = if step == Some(&0) { bits & first } else { first };
                    (*element, bits, first, step.map(|step| Stride::of_operand(*position, *step)))
                }
                Node::Operation { readings, element, operands, count, .. } => {
                    let operands = operands.map(|operand| known_of(operand, &found));
                    let operands = &operands[..usize::from(*count)];
                    let stride = (readings.stride)(operands).or_else(|| uniform(operands));
                    let bits = (readings.possible_bits)(operands);
                    // In the first lane as well, the result is that of the operands.
                    let firsts: [Known; 4] = std::array::from_fn(|position| {
                        let known = operands.get(position).unwrap_or(&operands[0]);
                        Known { bits: known.first, ..*known }
                    });
                    let first = (readings.possible_bits)(&firsts[..operands.len()]);
                    (*element, bits, first, stride)
                }
            };
            // Numbers that are narrower than their lanes wrap elsewhere.
            let stride = stride.map(|stride| Stride { step: narrow(stride.step, element), ..stride });
            let stride = stride.filter(|stride| stride.step == 0 || element.bits() >= 32);
            let (bits, first) = (bits & all(element), first & all(element));
            let distance = stride.and_then(|stride| steps.distance(stride.step));
            let distance = distance.filter(|distance| distance & (first | !all(element)) == 0);
            found.push(Known { bits, is_constant: false, first, stride, distance });
        }
        found
    }
}

/// A step of numbers of a type, with its sign.
fn narrow(step: i64, element: Element) -> i64 {
    if element.bits() == 32 { i64::from(step as i32) } else { step }
}

/// What is known of an operand, given what is known of results.
fn known_of(operand: Operand, results: &[Known]) -> Known {
    match operand {
        Operand::Constant(_, bits) => Known::of_constant(bits),
        Operand::Result(position) => results[position as usize],
    }
}

/// The value of an operand, given the values that were written.
fn value_of(operand: Operand, values: &[Option<Value>]) -> Value {
    match operand {
        Operand::Constant(element, bits) => Value::constant(element, bits),
        Operand::Result(position) => {
            values[position as usize].clone().expect("operations come after those on which they depend")
        }
    }
}

impl<'b, T: Scalar> V<Emit<'b>, T> {
    /// The value as an operand, for [`Builder::finish`].
    pub fn operand(self) -> Operand {
        match self.0 {
            Handle::Constant(x) => Operand::Constant(T::ELEMENT, x.to_word()),
            Handle::Result(_, position) => Operand::Result(position),
        }
    }
}
