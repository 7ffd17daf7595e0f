// Views of the data matrix X (samples x features) for the kernels. They do not own memory.
#pragma once

#include <cstdint>

namespace sx {

using index_t = std::int64_t;

enum class Type : int { f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

// Calls run with a value of the element type.
template <class Run>
void with_element_type(Type type, const Run& run) {
    switch (type) {
        case Type::f32:
            return run(float());
        case Type::f64:
            return run(double());
        case Type::i8:
            return run(std::int8_t());
        case Type::i16:
            return run(std::int16_t());
        case Type::i32:
            return run(std::int32_t());
        case Type::i64:
            return run(std::int64_t());
        case Type::u8:
        case Type::boolean:
            return run(std::uint8_t());
        case Type::u16:
            return run(std::uint16_t());
        case Type::u32:
            return run(std::uint32_t());
        case Type::u64:
            return run(std::uint64_t());
    }
}

// A dense X of any element type and any strides (C or Fortran order, slices).
struct DenseView {
    const void* data;
    Type type;
    index_t rows, columns;
    index_t row_stride, column_stride;  // in elements
};

// A compressed matrix: `rows` lists of (index, value). It holds X by samples (CSR), or the
// transpose of X by features (CSC).
struct CompressedView {
    const void* start;  // (rows + 1) offsets
    const void* index;  // column numbers, at most once per row
    const void* value;
    Type type;  // of the values: f32 or f64
    bool wide;  // 64-bit offsets and indices, otherwise 32-bit
    index_t rows, columns;
    bool ones;     // all values are 1 and need not be read
    bool ordered;  // the column numbers rise within every row

    index_t offset(index_t i) const {
        return wide ? static_cast<const std::int64_t*>(start)[i]
                    : static_cast<const std::int32_t*>(start)[i];
    }
    index_t column(index_t k) const {
        return wide ? static_cast<const std::int64_t*>(index)[k]
                    : static_cast<const std::int32_t*>(index)[k];
    }
    // The first of the sorted entries [low, high) whose column is at least `least`.
    index_t first_from(index_t low, index_t high, index_t least) const {
        while (low < high) {
            const index_t middle = (low + high) / 2;
            if (column(middle) < least)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }
    // The `count` rows from `first` on.
    CompressedView rows_from(index_t first, index_t count) const {
        CompressedView part = *this;
        part.start = static_cast<const char*>(start) + first * (wide ? 8 : 4);
        part.rows = count;
        return part;
    }
};

// Calls run with an index and a value of the types of a compressed matrix.
template <class Run>
void with_types(const CompressedView& A, Run run) {
    const auto with_index = [&](auto index) {
        if (A.type == Type::f32)
            run(index, float());
        else
            run(index, double());
    };
    if (A.wide)
        with_index(std::int64_t());
    else
        with_index(std::int32_t());
}

// The part of X that a product reads: rows `rows[0..]` of X if given, otherwise rows from `first`.
struct DenseOperand {
    DenseView X;
    const index_t* rows;
    index_t first;
    bool transposed;  // multiply by X^T: result rows are features, terms are samples
};

// The part of A that a product reads. Row i of C belongs to row list[i] of A if a list is given,
// otherwise to row first + i. Of row r, entries [from[r], to[r]) are used if given, otherwise all.
struct CompressedOperand {
    CompressedView A;
    const index_t* list;
    index_t first;
    const index_t* from;
    const index_t* to;
    index_t shift;  // row j of A's columns is row j - shift of B
};

}  // namespace sx
