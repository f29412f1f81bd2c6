import { expect, test } from 'vitest'
import { createBatchGate } from './batch-gate.ts'

/** Enters a gate and records which sequences start, in this order, and with how many tokens. */
function createRecorder(batchSize: number) {
  const gate = createBatchGate(batchSize)
  const started: string[] = []
  return {
    enter: async (sequence: number, tokens = 1): Promise<void> => {
      const granted = await gate.enter(sequence, tokens)
      started.push(`${sequence}: ${granted}`)
    },
    leave: gate.leave,
    /** What has started since the last call */
    started: async (): Promise<string[]> => {
      await new Promise((resolve) => setImmediate(resolve))
      return started.splice(0)
    },
  }
}

test('starts all sequences together, in the order of their numbers', async () => {
  const { enter, started } = createRecorder(8)
  void enter(1)
  expect(await started()).toEqual(['1: 1'])
  void enter(2)
  void enter(0)
  expect(await started()).toEqual([])
  void enter(1)
  expect(await started()).toEqual(['0: 1', '1: 1', '2: 1'])
})

test('does not wait for a sequence that left', async () => {
  const { enter, leave, started } = createRecorder(8)
  void enter(0)
  expect(await started()).toEqual(['0: 1'])
  void enter(1)
  void enter(2)
  leave(0)
  expect(await started()).toEqual(['1: 1', '2: 1'])
})

test('fills the batch with the shortest prompts first, and lets the rest wait for the next one', async () => {
  const { enter, started } = createRecorder(10)
  void enter(0)
  await started()
  void enter(1, 30)
  void enter(2, 20)
  void enter(3, 4)
  void enter(0)
  expect(await started()).toEqual(['0: 1', '2: 5', '3: 4'])
  void enter(0)
  void enter(3)
  void enter(2, 15)
  expect(await started()).toEqual(['0: 1', '2: 8', '3: 1'])
})
