import { expect, onTestFinished, test, vi } from 'vitest'
import { createGpuReader } from './gpu-reader.ts'
import type { GpuReading } from './gpu-reader.ts'

const readingOf = (bytes: number): GpuReading => ({ usedBytes: new Map([['GPU-a', bytes]]), programs: [] })

function openReader() {
  const warnings: string[] = []
  const waiting: ((reading: GpuReading | null) => void)[] = []
  const reader = createGpuReader(() => new Promise((resolve) => waiting.push(resolve)), {
    warn: (_details, message) => warnings.push(message),
  })
  return { reader, waiting, warnings }
}

test('callers share a reading, and a start asks for its own', async () => {
  const { reader, waiting } = openReader()
  const both = Promise.all([reader.read(), reader.read()])
  expect(waiting).toHaveLength(1)
  waiting[0]!(readingOf(1))
  expect(await both).toEqual([readingOf(1), readingOf(1)])
  expect(await reader.read(60_000)).toEqual(readingOf(1))
  const fresh = reader.read(0)
  waiting[1]!(readingOf(2))
  expect(await fresh).toEqual(readingOf(2))
})

test('a failure keeps the last reading, is logged once, and is not repeated at once', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { reader, waiting, warnings } = openReader()
  const seen: (GpuReading | null)[] = []
  for (const outcome of [null, null, readingOf(1), null]) {
    const read = reader.read(0)
    waiting.at(-1)!(outcome)
    seen.push(await read)
    if (outcome === null) expect(await reader.read(0)).toBe(seen.at(-1))
    await vi.advanceTimersByTimeAsync(3_000)
  }
  expect(seen).toEqual([null, null, readingOf(1), readingOf(1)])
  expect(waiting).toHaveLength(4)
  expect(warnings).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(60_000)
  const late = reader.read(0)
  waiting.at(-1)!(null)
  // A reading of a minute ago says nothing about now.
  expect(await late).toBeNull()
})

test('a caller waits some seconds for a driver that hangs, and others not at all', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { reader, waiting } = openReader()
  const first = reader.read()
  await vi.advanceTimersByTimeAsync(4_000)
  expect(await first).toBeNull()
  waiting[0]!(null)
  await vi.advanceTimersByTimeAsync(3_000)
  const second = reader.read()
  await vi.advanceTimersByTimeAsync(0)
  expect(await second).toBeNull()
  expect(waiting).toHaveLength(2)
})
