/** Runs long computations in slices; see `createTimeSlices`. */
export interface TimeSlices {
  /** Calls `step`, which must be short, in slices until it returns true. Rejects with its error. */
  run(step: () => boolean): Promise<void>
}

interface Task {
  step: () => boolean
  resolve: () => void
  reject: (error: unknown) => void
}

/** Runs all computations for at most about `milliseconds` in each turn, so that requests proceed between. */
export function createTimeSlices(milliseconds: number): TimeSlices {
  const tasks: Task[] = []

  function runSlice(): void {
    const task = tasks.shift()!
    const end = performance.now() + milliseconds
    try {
      let done = task.step()
      while (!done && performance.now() < end) done = task.step()
      if (done) task.resolve()
      else tasks.push(task)
    } catch (error) {
      task.reject(error)
    }
    if (tasks.length > 0) setImmediate(runSlice)
  }

  return {
    run: (step) =>
      new Promise((resolve, reject) => {
        if (tasks.push({ step, resolve, reject }) === 1) setImmediate(runSlice)
      }),
  }
}
