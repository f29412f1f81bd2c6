import { setTimeout as sleep } from 'node:timers/promises'

/** Runs a suite with outside components. Reports its duration, and undoes its steps in reverse order. */
export async function runSuite(
  name: string,
  run: (cleanUps: (() => void | Promise<void>)[]) => Promise<void>,
): Promise<void> {
  const startedAt = performance.now()
  const cleanUps: (() => void | Promise<void>)[] = []
  const cleanUp = async () => {
    for (const step of cleanUps.splice(0).toReversed()) await step()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => void cleanUp().finally(() => process.exit(1)))
  }
  try {
    await run(cleanUps)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
  await cleanUp()
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  console.log(`${name}: ${process.exitCode === 1 ? 'failed' : 'passed'} after ${seconds} s`)
}

/** Waits until a URL answers with any status. */
export async function waitForUrl(url: string, seconds = 120): Promise<void> {
  for (let attempt = 0; attempt < seconds * 4; attempt += 1) {
    const answer = await fetch(url).catch(() => null)
    if (answer !== null) return
    await sleep(250)
  }
  throw new Error(`${url} did not answer within ${seconds} seconds.`)
}
