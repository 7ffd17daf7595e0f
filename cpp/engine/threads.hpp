// A thread pool that is used only for loops with enough work.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace sx {

// Runs one parallel loop at a time. Any worker may take any task: results do not depend on it,
// because every task writes to its own memory.
class ThreadPool {
  public:
    // Runs body(task, worker) for every task in [0, tasks), on up to `threads` threads.
    template <class Body>
    void run(std::int64_t tasks, int threads, const Body& body) {
        const auto call = [](const void* what, std::int64_t task, int worker) {
            (*static_cast<const Body*>(what))(task, worker);
        };
        // If another Python thread is using the pool, run alone instead of waiting.
        std::unique_lock<std::mutex> turn(turn_, std::defer_lock);
        if (threads <= 1 || tasks <= 1 || !turn.try_lock()) {
            for (std::int64_t task = 0; task < tasks; ++task) body(task, 0);
            return;
        }
        const int helpers = static_cast<int>(std::min<std::int64_t>(threads, tasks)) - 1;
        while (static_cast<int>(workers_.size()) < helpers) {
            const int worker = static_cast<int>(workers_.size()) + 1;
            workers_.emplace_back([this, worker] { serve(worker); });
        }
        {
            std::lock_guard<std::mutex> lock(mutex_);
            job_ = {call, &body, tasks};
            next_.store(0);
            wanted_ = helpers;
            active_ = helpers;
            ++round_;
        }
        wake_.notify_all();
        work(job_, 0);
        spin_until([this] { return active_ == 0; });
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [this] { return active_ == 0; });
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

    // The pool of this process. A forked child does not inherit threads, so it gets a new pool.
    static ThreadPool& of_process() {
        struct Owned {
            ThreadPool pool;
            pid_t owner = getpid();
        };
        static std::atomic<Owned*> current{nullptr};
        Owned* mine = current.load();
        if (mine && mine->owner == getpid()) return mine->pool;
        Owned* made = new Owned;  // never destroyed: its threads may outlive static objects
        if (current.compare_exchange_strong(mine, made)) return made->pool;
        delete made;  // another thread was first
        return mine->pool;
    }

  private:
    struct Job {
        void (*call)(const void*, std::int64_t, int) = nullptr;
        const void* body = nullptr;
        std::int64_t tasks = 0;
    };

    // Spins for a short time before the caller goes to sleep: for short loops, sleeping and waking
    // takes longer than the loop. Yields the core to other threads.
    template <class Ready>
    static void spin_until(const Ready& ready) {
        using clock = std::chrono::steady_clock;
        const auto end = clock::now() + std::chrono::microseconds(patience);
        while (!ready() && clock::now() < end) std::this_thread::yield();
    }

    // An exception in a task ends the loop. `run` throws it again after all workers have finished.
    void work(const Job& job, int worker) {
        try {
            for (std::int64_t task; (task = next_.fetch_add(1)) < job.tasks;)
                job.call(job.body, task, worker);
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex_);
            failure_ = std::current_exception();
            next_.store(job.tasks);
        }
    }

    void serve(int worker) {
        std::uint64_t seen = 0;
        for (;;) {
            Job job;
            spin_until([&] { return round_ != seen; });
            {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_.wait(lock, [&] { return round_ != seen; });
                seen = round_;
                if (worker > wanted_) continue;
                job = job_;
            }
            work(job, worker);
            std::lock_guard<std::mutex> lock(mutex_);
            if (--active_ == 0) done_.notify_one();
        }
    }

    std::mutex turn_, mutex_;
    std::condition_variable wake_, done_;
    std::vector<std::thread> workers_;
    std::atomic<std::int64_t> next_{0};
    static constexpr int patience = 200;  // microseconds
    Job job_;
    int wanted_ = 0;
    std::exception_ptr failure_;
    std::atomic<int> active_{0};
    std::atomic<std::uint64_t> round_{0};
};

}  // namespace sx
