/** Runs a program and exits with 0 if it resolves to true. SIGINT, SIGTERM and errors end all it started. */
export async function runProgram(run: (cleanup: AsyncDisposableStack) => Promise<boolean>): Promise<never> {
  const interrupted = interruption()
  try {
    let succeeded: boolean
    {
      await using cleanup = new AsyncDisposableStack()
      succeeded = await Promise.race([run(cleanup), interrupted])
    }
    process.exit(succeeded ? 0 : 1)
  } catch (error) {
    // Report the first error, not a failed cleanup.
    const first = error instanceof SuppressedError ? error.suppressed : error
    console.error(`\n${first instanceof Error ? first.message : first}`)
    process.exit(1)
  }
}

/** Rejects on SIGINT and SIGTERM, so that the cleanup runs. */
function interruption(): Promise<never> {
  return new Promise((_resolve, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      // npm forwards the signal that the terminal has already sent, so it can arrive twice.
      process.on(signal, () => reject(new Error('The program was interrupted.')))
    }
  })
}
