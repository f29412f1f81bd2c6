/**
 * Whether a promise is fulfilled or rejected within `milliseconds`. What arrived while the process stood
 * still is in time: it is read before the promise counts as late.
 */
export async function settlesWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => setImmediate(resolve, false), milliseconds)
  const settled = promise.then(
    () => true,
    () => true,
  )
  try {
    return await Promise.race([settled, late])
  } finally {
    clearTimeout(timer)
  }
}
