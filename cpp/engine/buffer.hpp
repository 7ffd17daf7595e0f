// Memory that is reused from one call to the next.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "matrix/views.hpp"

namespace sx {

// Grows to the size that is requested. A buffer above 64 MiB is freed before the next request.
template <class T>
class Buffer {
    static constexpr std::size_t most_kept = std::size_t(1) << 26;

  public:
    T* reserve(index_t count) {
        if (count > size_ || size_ * sizeof(T) > most_kept) {
            memory_.reset();
            size_ = 0;
            memory_.reset(
                static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 127) / 64 * 64)));
            if (!memory_) throw std::bad_alloc();
            size_ = count;
        }
        return memory_.get();
    }

  private:
    struct Free {
        void operator()(T* p) const { std::free(p); }
    };
    std::unique_ptr<T, Free> memory_;
    index_t size_ = 0;
};

}  // namespace sx
