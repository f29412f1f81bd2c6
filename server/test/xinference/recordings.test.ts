import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { collectAnswers, findDifferences } from './answers.ts'
import type { Answers } from './answers.ts'
import { openSimulator } from './support.ts'

// `RECORD=yes npm run test:xinference` makes the recordings.
const recordings: [version: string, file: string][] = [
  ['4.1.0', '4.json'],
  ['3.5.0', '3.json'],
  ['2.12.0', '2.json'],
]

test.each(recordings)('the simulator answers as Xinference %s does', async (version, file) => {
  const real: Answers = JSON.parse(await readFile(join(import.meta.dirname, 'recordings', file), 'utf8'))
  const simulator = await openSimulator({ version })
  const body = { model_uid: 'm', model_name: 'berth-tiny', model_engine: 'llama.cpp', n_gpu: null }
  const launch = { ...body, model_format: 'ggufv2', quantization: 'Q8_0', model_size_in_billions: '0_002' }
  await fetch(`${simulator.url}/v1/models`, { method: 'POST', body: JSON.stringify(launch) })
  await vi.waitFor(() => expect(simulator.models.get('m')?.status).toBe('READY'), 20_000)
  expect(findDifferences(real, await collectAnswers(simulator.url, 'm'))).toEqual([])
})
