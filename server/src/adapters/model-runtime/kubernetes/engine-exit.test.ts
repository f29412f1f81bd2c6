import { expect, test } from 'vitest'
import { evaluateEngine } from './observe.ts'
import type { EngineSnapshot } from './observe.ts'
import { crashLoop, endpoint, ended, makeEvent, timeouts, running, makeSnapshot } from './pod-fixtures.ts'

test.each<[string, EngineSnapshot, string, string, RegExp]>([
  [
    'out of memory',
    makeSnapshot({ container: { restartCount: 1, ...running, lastState: ended(137, 'OOMKilled') } }),
    'runtime',
    'out_of_memory',
    /more memory than its pod or node/,
  ],
  [
    'the engine never becomes ready',
    makeSnapshot(
      { container: { restartCount: 1, ...running, lastState: ended(137) } },
      { events: [makeEvent('Killing', 'Container engine failed startup probe, will be restarted')] },
    ),
    'health_check',
    'readiness_timeout',
    /did not become ready within/,
  ],
  [
    'the engine stops responding',
    makeSnapshot(
      { container: crashLoop(137) },
      { events: [makeEvent('Killing', 'Container engine failed liveness probe, will be restarted')] },
    ),
    'health_check',
    'engine_unreachable',
    /repeatedly failed/,
  ],
  [
    'a gated model',
    makeSnapshot(
      { container: crashLoop() },
      {
        lastLines: [
          'requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/x',
        ],
      },
    ),
    'model_download',
    'download_failed',
    /HF_TOKEN/,
  ],
  [
    'a model that does not exist',
    makeSnapshot(
      { container: crashLoop() },
      { lastLines: ['huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error.'] },
    ),
    'model_download',
    'model_not_found',
    /were not found/,
  ],
  [
    'the hub is unreachable',
    makeSnapshot({ container: crashLoop() }, { lastLines: ['Temporary failure in name resolution'] }),
    'model_download',
    'download_failed',
    /could not be downloaded/,
  ],
  [
    'a full disk',
    makeSnapshot(
      { container: { state: ended(1) } },
      { lastLines: ['OSError: [Errno 28] No space left on device'] },
    ),
    'model_download',
    'disk_full',
    /full/,
  ],
  [
    "vLLM: the GPU's memory",
    makeSnapshot(
      { container: { state: ended(1) } },
      {
        lastLines: [
          'ValueError: No available memory for the cache blocks.',
          'RuntimeError: Engine core initialization failed.',
        ],
      },
    ),
    'model_launch',
    'out_of_memory',
    /cache blocks/,
  ],
  [
    "llama.cpp: the GPU's memory",
    makeSnapshot(
      { container: crashLoop() },
      {
        lastLines: [
          'ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000 MiB on device 0: cudaMalloc failed: out of memory',
        ],
      },
    ),
    'model_launch',
    'out_of_memory',
    /cudaMalloc/,
  ],
  [
    'vLLM: the architecture',
    makeSnapshot(
      { container: crashLoop() },
      { lastLines: ["ValueError: Model architectures ['FutureForCausalLM'] are not supported for now."] },
    ),
    'model_launch',
    'launch_rejected',
    /FutureForCausalLM/,
  ],
  [
    'attention heads that do not divide by the GPUs',
    makeSnapshot(
      { container: crashLoop() },
      {
        lastLines: ['Total number of attention heads (14) must be divisible by tensor parallel size (4).'],
      },
    ),
    'model_launch',
    'launch_rejected',
    /divisible/,
  ],
  [
    'a node without a working driver',
    makeSnapshot({ container: crashLoop() }, { lastLines: ['RuntimeError: Failed to infer device type'] }),
    'engine_startup',
    'provider_error',
    /no usable GPU/,
  ],
  [
    'a crash',
    makeSnapshot({ container: crashLoop(139) }, { lastLines: ['one', 'Segmentation fault'] }),
    'model_launch',
    'engine_crashed',
    /exit code 139\. Last log line: Segmentation fault$/,
  ],
  [
    'a crash with an empty log',
    makeSnapshot({ container: crashLoop(139) }),
    'model_launch',
    'engine_crashed',
    /exit code 139\. Its log is empty\.$/,
  ],
])('%s: reports stage, code and message', (_name, snapshot, stage, code, message) => {
  expect(evaluateEngine(snapshot, endpoint, timeouts)).toEqual({
    phase: 'failed',
    stage,
    code,
    message: expect.stringMatching(message),
  })
})

test.each([1, 4])('an engine that runs again after %d restarts is starting, not failed', (restartCount) => {
  const container = { ...running, started: true, restartCount, lastState: ended(137, 'OOMKilled') }
  const lastLines = ['OSError: [Errno 28] No space left on device']
  expect(evaluateEngine(makeSnapshot({ container }, { lastLines }), endpoint, timeouts)).toEqual({
    phase: 'starting',
    message: 'The engine is not answering its health check.',
  })
})

test('a failure message is one line of bounded length', () => {
  const observation = evaluateEngine(
    makeSnapshot({ container: crashLoop() }, { lastLines: [`a\nb ${'x'.repeat(9000)}`] }),
    endpoint,
    timeouts,
  )
  expect(observation.phase === 'failed' && observation.message).toMatch(/^[^\n]{100,400}$/)
})
