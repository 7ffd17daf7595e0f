// Large arrays with random access, stored in huge pages if the system supports them.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace sx {

// Uninitialised memory for `count` numbers.
template <class T>
class HugePages {
  public:
    HugePages() = default;
    explicit HugePages(std::size_t count) {
        constexpr std::size_t huge = std::size_t(1) << 21;
        const std::size_t bytes = count * sizeof(T) + 64;
        const std::size_t unit = bytes >= huge ? huge : 64;
        memory_.reset(static_cast<T*>(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)));
        if (!memory_) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
        if (unit == huge) madvise(memory_.get(), bytes, MADV_HUGEPAGE);
#endif
    }

    T* data() const { return memory_.get(); }
    T& operator[](std::size_t k) const { return memory_.get()[k]; }

  private:
    struct Free {
        void operator()(T* p) const { std::free(p); }
    };
    std::unique_ptr<T, Free> memory_;
};

}  // namespace sx
