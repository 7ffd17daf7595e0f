// Binds the parser of text in svmlight format.
#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>

#include "bind/arrays.hpp"
#include "svmlight/text.hpp"

namespace sx {
namespace {

// A text in svmlight format. Keeps the array that holds it alive.
class Svmlight {
  public:
    explicit Svmlight(In<std::uint8_t> text) : kept_(std::move(text)) {
        nb::gil_scoped_release release;
        text_ = std::make_unique<svmlight::Text>(
            engine(), reinterpret_cast<const char*>(kept_.data()), kept_.size());
    }

    index_t lines() const { return text_->lines(); }
    index_t colons() const { return text_->colons(); }
    index_t line_of_row(index_t row) const { return text_->line_of_row(row); }

    // Returns the number of rows, the number of entries, the smallest and largest index, whether an
    // index overflows its type, and the problem found: its code, line and word (code 0: none).
    template <class Index>
    std::tuple<index_t, index_t, std::int64_t, std::int64_t, bool, int, index_t, nb::bytes> read(
        int base, bool zero_allowed, Out<double> labels, Out<Index> starts, Out<Index> indices,
        Out<double> values, Maybe<Out<std::int64_t>> qids) const {
        svmlight::Found found;
        {
            nb::gil_scoped_release release;
            found = text_->read<Index>(engine(),
                                       {labels.data(), starts.data(), indices.data(), values.data(),
                                        qids ? qids->data() : nullptr},
                                       base, zero_allowed);
        }
        return {found.rows,     found.entries,
                found.smallest, found.largest,
                found.wide,     static_cast<int>(found.problem),
                found.line,     nb::bytes(found.word.data(), found.word.size())};
    }

  private:
    In<std::uint8_t> kept_;
    std::unique_ptr<svmlight::Text> text_;
};

}  // namespace

void bind_svmlight(nb::module_& m) {
    const auto read_args = [](auto& svmlight, auto read) {
        svmlight.def("read", read, "base"_a, "zero_allowed"_a, "labels"_a.noconvert(),
                     "starts"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert(),
                     "qids"_a.none().noconvert());
    };
    nb::class_<Svmlight> svmlight(m, "Svmlight");
    svmlight.def(nb::init<In<std::uint8_t>>(), "text"_a.noconvert())
        .def_prop_ro("lines", &Svmlight::lines)
        .def_prop_ro("colons", &Svmlight::colons)
        .def("line_of_row", &Svmlight::line_of_row, "row"_a);
    read_args(svmlight, &Svmlight::read<std::int32_t>);
    read_args(svmlight, &Svmlight::read<std::int64_t>);
}

}  // namespace sx
