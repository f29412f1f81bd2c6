import { expect, test } from 'vitest'
import { startHealthThread } from './serve-health.ts'

test('a thread answers for a busy process, until its heart has not beaten for too long', async () => {
  const beats = new Int32Array(new SharedArrayBuffer(4))
  const { thread, port } = startHealthThread({ beats, patienceMs: 300 })
  try {
    const url = `http://127.0.0.1:${await port}/health`
    const read = async () => (await fetch(url)).status
    Atomics.add(beats, 0, 1)
    expect(await read()).toBe(200)
    await expect.poll(read).toBe(503)
    Atomics.add(beats, 0, 1)
    expect(await read()).toBe(200)
  } finally {
    await thread.terminate()
  }
})
