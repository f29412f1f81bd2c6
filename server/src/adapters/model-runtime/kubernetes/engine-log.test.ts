import { expect, test } from 'vitest'
import type { Cluster } from './cluster.ts'
import { followEngineLog } from './engine-log.ts'

/** Output of the kubelet of Kubernetes 1.20 with llama-server b11669. */
const recorded = [
  '2026-11-22T11:10:24.919614201Z 0.00.031.379 I cmn  common_param: verbosity = 3 (adjust with the `-lv N` CLI arg)',
  '2026-11-22T11:10:24.921382745Z 0.00.033.147 I srv    operator(): Available models (0):',
  '2026-11-22T11:10:24.921409120Z 0.00.033.174 W srv  llama_server: security: router mode enabled',
  '2026-11-22T11:10:24.921998003Z 0.00.033.763 I srv  llama_server: listening on http://127.0.0.1:8000',
]

test('a followed log repeats no line and loses none that share a millisecond', async () => {
  const stop = new AbortController()
  const toBody = (lines: readonly string[]) => [Buffer.from(`${lines.join('\n')}\n`)]
  let opened = 0
  const cluster = {
    listPods: async () => [{ metadata: { name: 'pod' } }],
    // The pod first has two lines. `sinceTime` has whole seconds, so each stream repeats them.
    async openLog({ follow }: { follow?: boolean }) {
      opened += 1
      if (opened > 3) stop.abort()
      return toBody(follow === true ? recorded : recorded.slice(0, 2))
    },
  } as unknown as Cluster
  const lines = await Array.fromAsync(followEngineLog(cluster, 'id', 10, stop.signal), ({ line }) => line)
  expect(lines).toEqual(recorded.map((line) => line.slice(31)))
})
