/** Creates a function that runs tasks with the same key one at a time, in call order. */
export function createSerialQueue(): <T>(key: string, task: () => Promise<T>) => Promise<T> {
  const tails = new Map<string, Promise<unknown>>()
  return async function run(key, task) {
    const previous = tails.get(key) ?? Promise.resolve()
    const result = previous.then(task)
    const tail = result.catch(() => {})
    tails.set(key, tail)
    try {
      return await result
    } finally {
      if (tails.get(key) === tail) tails.delete(key)
    }
  }
}
