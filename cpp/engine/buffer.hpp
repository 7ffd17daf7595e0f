// Memory that is kept from call to call.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "matrix/views.hpp"

namespace sx {

// Memory that grows to what is asked for, and shrinks again from more than 64 MiB.
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
