//! What cuBLAS is told about operands: its matrices lie column by column, with a distance between columns, and its vectors have a step.
//!
//! A matrix that lies row by row is the transpose of a matrix that lies column by column. All of this is arithmetic on shapes and
//! strides; no library is called.

use crate::array::ArrayView;
use crate::base::error::LibraryError;
use crate::libraries::cublas::SOURCE;
use bytemuck::Pod;
use std::ffi::c_int;

/// The shape and the strides of an operand, with its name in messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand<'s> {
    name: &'static str,
    shape: &'s [usize],
    strides: &'s [isize],
}

/// How the elements of a matrix lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Rows,
    Columns,
}

/// One matrix or several.
#[derive(Clone, Copy, Debug)]
struct Matrices {
    count: usize,
    rows: usize,
    columns: usize,
    order: Order,
    /// From one row or column to the next: the leading dimension.
    leading: c_int,
    /// From one matrix to the next; 0 if one serves for all.
    apart: i64,
}

/// The parameters of `cublasGemmStridedBatchedEx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gemm {
    /// Whether `b` is the first operand and `a` the second: the transpose of the product is computed.
    pub(super) is_swapped: bool,
    /// `cublasOperation_t` of the first and the second operand.
    pub(super) transposes: [c_int; 2],
    /// Rows and columns of the result, terms of each sum.
    pub(super) sizes: [c_int; 3],
    pub(super) leading: [c_int; 3],
    pub(super) apart: [i64; 3],
    pub(super) batch: c_int,
}

/// The parameters of `cublasSgemv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gemv {
    pub(super) transpose: c_int,
    pub(super) sizes: [c_int; 2],
    pub(super) leading: c_int,
    pub(super) vectors: [Vector; 2],
}

/// A vector's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vector {
    /// From one element to the next; negative from the last address to the first.
    pub(super) step: c_int,
    /// Elements from the lowest address to the element at index 0.
    above: u64,
}

impl Vector {
    /// The lowest address of its elements, where BLAS begins whatever the step.
    pub(super) fn start<T: Pod>(&self, view: &ArrayView<'_, T, 1>) -> u64 {
        view.place().1 - self.above * size_of::<T>() as u64
    }
}

impl<'s> Operand<'s> {
    pub(super) fn of<T: Pod, const N: usize>(name: &'static str, view: &'s ArrayView<'_, T, N>) -> Operand<'s> {
        let layout = view.layout();
        Operand { name, shape: &layout.shape, strides: &layout.strides }
    }

    fn strides(&self, operation: &'static str, rule: &'static str) -> LibraryError {
        LibraryError::Strides {
            operation,
            operand: self.name,
            shape: self.shape.to_vec(),
            strides: self.strides.to_vec(),
            rule,
        }
    }

    /// The operand as matrices; `None` unless it has two or three dimensions.
    fn matrices(&self, operation: &'static str) -> Result<Option<Matrices>, LibraryError> {
        let (count, rows, columns) = match *self.shape {
            [rows, columns] => (1, rows, columns),
            [count, rows, columns] => (count, rows, columns),
            _ => return Ok(None),
        };
        let [.., of_rows, of_columns] = *self.strides else {
            return Ok(None);
        };
        let rule =
            "the elements of each row, or of each column, lie one after the other, and rows or columns do not overlap";
        let line = |lines: usize, length: usize, apart: isize, step: isize| {
            let is_dense = length <= 1 || step == 1;
            let apart = if lines <= 1 { length.max(1) } else { usize::try_from(apart).unwrap_or(0) };
            (is_dense && apart >= length.max(1)).then_some(apart)
        };
        let by_rows = line(rows, columns, of_rows, of_columns).map(|leading| (Order::Rows, leading));
        let by_columns = || line(columns, rows, of_columns, of_rows).map(|leading| (Order::Columns, leading));
        let (order, leading) = by_rows.or_else(by_columns).ok_or_else(|| self.strides(operation, rule))?;
        let apart = if count > 1 { self.strides[0] } else { 0 };
        if apart < 0 {
            return Err(self.strides(operation, "the matrices lie in ascending order"));
        }
        for number in [count, rows, columns] {
            SOURCE.counted(operation, number)?;
        }
        let leading = SOURCE.counted(operation, leading)?;
        Ok(Some(Matrices { count, rows, columns, order, leading, apart: apart as i64 }))
    }

    /// The operand as a vector.
    fn vector(&self, operation: &'static str) -> Result<(usize, Vector), LibraryError> {
        let (length, stride) = (self.shape[0], self.strides[0]);
        SOURCE.counted(operation, length)?;
        if length <= 1 {
            return Ok((length, Vector { step: 1, above: 0 }));
        }
        if stride == 0 {
            return Err(self.strides(operation, "each element of a vector has a place of its own"));
        }
        let step = SOURCE.counted(operation, stride.unsigned_abs())?;
        match stride < 0 {
            true => Ok((length, Vector { step: -step, above: (length as u64 - 1) * step as u64 })),
            false => Ok((length, Vector { step, above: 0 })),
        }
    }
}

fn shapes(operation: &'static str, operands: &[Operand<'_>], rule: &'static str) -> LibraryError {
    LibraryError::Shapes { operation, shapes: operands.iter().map(|operand| operand.shape.to_vec()).collect(), rule }
}

/// The parameters of `c = a b`, or `None` if `c` has no elements.
pub(super) fn gemm(operation: &'static str, operands: [Operand<'_>; 3]) -> Result<Option<Gemm>, LibraryError> {
    let do_not_fit = || {
        let rule = "`[rows, terms]` times `[terms, columns]` is `[rows, columns]`; of three dimensions the first counts matrices, and \
                    operands with one matrix serve for all of them";
        shapes(operation, &operands, rule)
    };
    let [a, b, c] = operands.map(|operand| operand.matrices(operation));
    let (Some(a), Some(b), Some(c)) = (a?, b?, c?) else {
        return Err(do_not_fit());
    };
    let serves = |operand: &Matrices| operand.count == c.count || operand.count == 1;
    if [a.rows, b.columns, a.columns] != [c.rows, c.columns, b.rows] || !serves(&a) || !serves(&b) {
        return Err(do_not_fit());
    }
    if c.count == 0 || c.rows == 0 || c.columns == 0 {
        return Ok(None);
    }
    // cuBLAS writes columns: where `c` lies by rows, it computes cᵀ = bᵀ aᵀ.
    let is_swapped = c.order == Order::Rows;
    let (first, second, [m, n]) = if is_swapped { (b, a, [c.columns, c.rows]) } else { (a, b, [c.rows, c.columns]) };
    let transpose = |operand: Matrices| c_int::from(operand.order != c.order);
    let apart = |operand: Matrices| if operand.count == 1 { 0 } else { operand.apart };
    Ok(Some(Gemm {
        is_swapped,
        transposes: [transpose(first), transpose(second)],
        // All were counted above.
        sizes: [m, n, a.columns].map(|size| size as c_int),
        leading: [first.leading, second.leading, c.leading],
        apart: [apart(first), apart(second), apart(c)],
        batch: c.count as c_int,
    }))
}

/// The parameters of `y = a x`, or `None` if `y` has no elements.
pub(super) fn gemv(operation: &'static str, operands: [Operand<'_>; 3]) -> Result<Option<Gemv>, LibraryError> {
    let [a, x, y] = operands;
    let (inputs, of_x) = x.vector(operation)?;
    let (outputs, of_y) = y.vector(operation)?;
    let matrix = a.matrices(operation)?.filter(|matrix| [matrix.rows, matrix.columns] == [outputs, inputs]);
    let Some(matrix) = matrix else {
        return Err(shapes(operation, &operands, "`[rows, columns]` times `[columns]` is `[rows]`"));
    };
    if outputs == 0 {
        return Ok(None);
    }
    let sizes = match matrix.order {
        Order::Columns => [matrix.rows, matrix.columns],
        Order::Rows => [matrix.columns, matrix.rows],
    };
    Ok(Some(Gemv {
        transpose: c_int::from(matrix.order == Order::Rows),
        sizes: sizes.map(|size| size as c_int),
        leading: matrix.leading,
        vectors: [of_x, of_y],
    }))
}

/// Two vectors of one length.
pub(super) fn pair(operation: &'static str, operands: [Operand<'_>; 2]) -> Result<(c_int, [Vector; 2]), LibraryError> {
    let ((length, of_x), (other, of_y)) = (operands[0].vector(operation)?, operands[1].vector(operation)?);
    if length != other {
        return Err(shapes(operation, &operands, "both vectors have one length"));
    }
    Ok((length as c_int, [of_x, of_y]))
}

/// One vector.
pub(super) fn vector(operation: &'static str, operand: Operand<'_>) -> Result<(c_int, Vector), LibraryError> {
    operand.vector(operation).map(|(length, vector)| (length as c_int, vector))
}

#[cfg(test)]
mod tests {
    use super::{Gemm, Gemv, LibraryError, Operand, gemm, gemv, pair, vector};

    /// An operand with the elements `seed`, `seed + 1`, … of its memory.
    #[derive(Clone, Copy)]
    struct Case {
        offset: usize,
        shape: &'static [usize],
        strides: &'static [isize],
    }

    const fn case(offset: usize, shape: &'static [usize], strides: &'static [isize]) -> Case {
        Case { offset, shape, strides }
    }

    impl Case {
        fn operand(&self) -> Operand<'_> {
            Operand { name: "operand", shape: self.shape, strides: self.strides }
        }

        /// The element of matrix `batch`, or of the only one.
        fn at(&self, batch: usize, row: usize, column: usize) -> usize {
            let index = [batch, row, column];
            let (axes, strides) = (self.shape.len(), self.strides);
            let index = &index[3 - axes..];
            let steps = index
                .iter()
                .zip(strides)
                .zip(self.shape)
                .map(|((&index, &stride), &length)| if length == 1 { 0 } else { index as isize * stride });
            self.offset.checked_add_signed(steps.sum::<isize>()).expect("inside")
        }
    }

    /// What cuBLAS computes, by the definition in its manual: columns with a distance, the first operand times the second.
    fn reference(gemm: &Gemm, memory: [&[i64]; 2], starts: [usize; 3], target: &mut [i64]) {
        let ([m, n, k], batch) = (gemm.sizes.map(|size| size as usize), gemm.batch as usize);
        let place = |operand: usize, transpose: bool, batch: usize, row: usize, column: usize| {
            let (row, column) = if transpose { (column, row) } else { (row, column) };
            starts[operand] + batch * gemm.apart[operand] as usize + column * gemm.leading[operand] as usize + row
        };
        for (batch, column, row) in (0..batch).flat_map(|b| (0..n).flat_map(move |c| (0..m).map(move |r| (b, c, r)))) {
            let term = |i| {
                let left = memory[0][place(0, gemm.transposes[0] == 1, batch, row, i)];
                left * memory[1][place(1, gemm.transposes[1] == 1, batch, i, column)]
            };
            target[place(2, false, batch, row, column)] = (0..k).map(term).sum();
        }
    }

    const MEMORY: usize = 200;

    /// Left operands of 2 by 3, right operands of 3 by 4, and outputs of 2 by 4, of every layout that cuBLAS takes.
    const LEFT: [Case; 6] = [
        case(0, &[2, 3], &[3, 1]),
        case(0, &[2, 3], &[1, 2]),
        case(5, &[2, 3], &[7, 1]),
        case(5, &[2, 3], &[1, 7]),
        case(1, &[3, 2, 3], &[20, 3, 1]),
        case(1, &[3, 2, 3], &[6, 1, 2]),
    ];
    const RIGHT: [Case; 5] = [
        case(0, &[3, 4], &[4, 1]),
        case(0, &[3, 4], &[1, 3]),
        case(9, &[3, 4], &[11, 1]),
        case(2, &[3, 3, 4], &[12, 4, 1]),
        case(2, &[3, 3, 4], &[0, 1, 5]),
    ];
    const OUTPUT: [Case; 4] = [
        case(0, &[2, 4], &[4, 1]),
        case(3, &[2, 4], &[1, 6]),
        case(0, &[3, 2, 4], &[8, 4, 1]),
        case(7, &[3, 2, 4], &[30, 1, 5]),
    ];

    #[test]
    fn every_layout_gives_the_product() {
        let left: Vec<i64> = (0..MEMORY as i64).map(|i| i * 7 % 23 - 11).collect();
        let right: Vec<i64> = (0..MEMORY as i64).map(|i| i * 5 % 19 - 9).collect();
        let mut tried = 0;
        for (a, b, c) in LEFT.iter().flat_map(|a| RIGHT.iter().flat_map(move |b| OUTPUT.iter().map(move |c| (a, b, c))))
        {
            let batches = |case: &Case| if case.shape.len() == 3 { case.shape[0] } else { 1 };
            let parameters = gemm("multiply", [a, b, c].map(Case::operand));
            if batches(c) == 1 && (batches(a) > 1 || batches(b) > 1) {
                assert!(matches!(parameters, Err(LibraryError::Shapes { .. })), "{parameters:?}");
                continue;
            }
            let parameters = parameters.expect("they fit").expect("there are elements");
            let mut target = vec![0; MEMORY];
            let (memory, first, second) = match parameters.is_swapped {
                true => ([&right[..], &left[..]], b.offset, a.offset),
                false => ([&left[..], &right[..]], a.offset, b.offset),
            };
            reference(&parameters, memory, [first, second, c.offset], &mut target);
            let mut wanted = vec![0; MEMORY];
            for (batch, row, column) in
                (0..batches(c)).flat_map(|b| (0..2).flat_map(move |r| (0..4).map(move |c| (b, r, c))))
            {
                let term = |i| left[a.at(batch, row, i)] * right[b.at(batch, i, column)];
                wanted[c.at(batch, row, column)] = (0..3).map(term).sum();
            }
            assert_eq!(target, wanted, "{:?} {:?} {:?}: {parameters:?}", a.strides, b.strides, c.strides);
            tried += 1;
        }
        assert_eq!(tried, 84);
    }

    #[test]
    fn a_single_row_or_column_has_any_stride() {
        let table: [(Case, [usize; 2]); 3] = [
            (case(0, &[1, 3], &[0, 1]), [1, 3]),
            (case(0, &[3, 1], &[5, 9]), [3, 1]),
            (case(0, &[1, 1], &[0, 0]), [1, 1]),
        ];
        for (case, [rows, columns]) in table {
            let identity = [rows, rows];
            let operand = Operand { name: "a", shape: &identity, strides: &[rows as isize, 1] };
            let output = [rows, columns];
            let of_output = [columns as isize, 1];
            let target = Operand { name: "c", shape: &output, strides: &of_output };
            assert!(gemm("multiply", [operand, case.operand(), target]).is_ok(), "{:?}", case.strides);
        }
    }

    #[test]
    fn wrong_operands_are_refused() {
        let good = [case(0, &[2, 3], &[3, 1]), case(0, &[3, 4], &[4, 1]), case(0, &[2, 4], &[4, 1])];
        let table: [(&str, usize, Case); 9] = [
            ("shapes", 0, case(0, &[2, 5], &[5, 1])),
            ("shapes", 2, case(0, &[4, 2], &[2, 1])),
            ("shapes", 1, case(0, &[3], &[1])),
            ("shapes", 0, case(0, &[5, 2, 3], &[6, 3, 1])),
            // Every second column; rows that are repeated; rows in reverse; rows that overlap.
            ("strides", 0, case(0, &[2, 3], &[6, 2])),
            ("strides", 0, case(0, &[2, 3], &[0, 1])),
            ("strides", 0, case(3, &[2, 3], &[-3, 1])),
            ("strides", 0, case(0, &[2, 3], &[2, 1])),
            ("number", 1, case(0, &[3, 4], &[1 << 31, 1])),
        ];
        for (kind, place, wrong) in table {
            let mut operands = good;
            operands[place] = wrong;
            let found = gemm("multiply", operands.each_ref().map(Case::operand));
            let found = match found.expect_err("they do not fit") {
                LibraryError::Shapes { .. } => "shapes",
                LibraryError::Strides { .. } => "strides",
                LibraryError::TooLong { .. } => "number",
                other => panic!("another error: {other}"),
            };
            assert_eq!(found, kind, "{:?} with strides {:?}", wrong.shape, wrong.strides);
        }
    }

    #[test]
    fn matrices_times_vectors() {
        let (x, y) = (case(0, &[3], &[2]), case(8, &[2], &[-4]));
        for (a, transpose, sizes, leading) in
            [(case(0, &[2, 3], &[5, 1]), 1, [3, 2], 5), (case(0, &[2, 3], &[1, 6]), 0, [2, 3], 6)]
        {
            let found = gemv("multiply", [a, x, y].each_ref().map(Case::operand)).expect("they fit").expect("elements");
            let Gemv { vectors: [of_x, of_y], .. } = found;
            assert_eq!((found.transpose, found.sizes, found.leading), (transpose, sizes, leading));
            // BLAS begins at the lowest address: the element at index 0 is four elements above.
            assert_eq!(((of_x.step, of_x.above), (of_y.step, of_y.above)), ((2, 0), (-4, 4)));
        }
        let wrong = gemv("multiply", [case(0, &[2, 3], &[3, 1]), y, x].each_ref().map(Case::operand));
        assert!(matches!(wrong, Err(LibraryError::Shapes { .. })), "{wrong:?}");
    }

    #[test]
    fn vectors_have_one_length_and_steps() {
        let (x, y) = (case(0, &[3], &[2]), case(0, &[4], &[1]));
        assert!(matches!(pair("add", [x.operand(), y.operand()]), Err(LibraryError::Shapes { .. })));
        assert!(matches!(vector("scale", case(0, &[3], &[0]).operand()), Err(LibraryError::Strides { .. })));
        assert!(matches!(vector("scale", case(0, &[3], &[1 << 40]).operand()), Err(LibraryError::TooLong { .. })));
        assert_eq!(vector("scale", case(0, &[1], &[0]).operand()).expect("one element").1.step, 1);
    }
}
