import { expect, test } from 'vitest'
import { judgeEngine } from './observe.ts'
import type { Sight } from './observe.ts'
import { crashLoop, endpoint, ended, makeEvent, patience, running, see } from './recorded-pods.ts'

test.each<[string, Sight, string, string, RegExp]>([
  [
    'out of memory',
    see({ container: { restartCount: 1, ...running, lastState: ended(137, 'OOMKilled') } }),
    'runtime',
    'out_of_memory',
    /more memory than its pod or node/,
  ],
  [
    'never ready',
    see(
      { container: { restartCount: 1, ...running, lastState: ended(137) } },
      { events: [makeEvent('Killing', 'Container engine failed startup probe, will be restarted')] },
    ),
    'health_check',
    'readiness_timeout',
    /not ready in the time/,
  ],
  [
    'no longer answering',
    see(
      { container: crashLoop(137) },
      { events: [makeEvent('Killing', 'Container engine failed liveness probe, will be restarted')] },
    ),
    'health_check',
    'engine_unreachable',
    /again and again/,
  ],
  [
    'a gated model',
    see(
      { container: crashLoop() },
      {
        lastWords: [
          'requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/x',
        ],
      },
    ),
    'model_download',
    'download_failed',
    /HF_TOKEN/,
  ],
  [
    'no such model',
    see(
      { container: crashLoop() },
      { lastWords: ['huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error.'] },
    ),
    'model_download',
    'model_not_found',
    /does not have/,
  ],
  [
    'the hub is out of reach',
    see({ container: crashLoop() }, { lastWords: ['Temporary failure in name resolution'] }),
    'model_download',
    'download_failed',
    /could not be downloaded/,
  ],
  [
    'a full disk',
    see({ container: { state: ended(1) } }, { lastWords: ['OSError: [Errno 28] No space left on device'] }),
    'model_download',
    'disk_full',
    /full/,
  ],
  [
    "vLLM: the GPU's memory",
    see(
      { container: { state: ended(1) } },
      {
        lastWords: [
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
    see(
      { container: crashLoop() },
      {
        lastWords: [
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
    see(
      { container: crashLoop() },
      { lastWords: ["ValueError: Model architectures ['FutureForCausalLM'] are not supported for now."] },
    ),
    'model_launch',
    'launch_rejected',
    /FutureForCausalLM/,
  ],
  [
    'heads that GPUs can not share',
    see(
      { container: crashLoop() },
      {
        lastWords: ['Total number of attention heads (14) must be divisible by tensor parallel size (4).'],
      },
    ),
    'model_launch',
    'launch_rejected',
    /divisible/,
  ],
  [
    'a node without a working driver',
    see({ container: crashLoop() }, { lastWords: ['RuntimeError: Failed to infer device type'] }),
    'engine_startup',
    'provider_error',
    /no GPU that it can use/,
  ],
  [
    'a crash',
    see({ container: crashLoop(139) }, { lastWords: ['one', 'Segmentation fault'] }),
    'model_launch',
    'engine_crashed',
    /exit code 139; it last said: Segmentation fault$/,
  ],
  [
    'a crash without a word',
    see({ container: crashLoop(139) }),
    'model_launch',
    'engine_crashed',
    /exit code 139\.$/,
  ],
])('%s: the right stage, code and sentence', (_name, sight, stage, code, message) => {
  expect(judgeEngine(sight, endpoint, patience)).toEqual({
    phase: 'failed',
    stage,
    code,
    message: expect.stringMatching(message),
  })
})

test.each([1, 4])(
  'an engine that has started after %d ends is waited for, however they came',
  (restartCount) => {
    const container = { ...running, started: true, restartCount, lastState: ended(137, 'OOMKilled') }
    const lastWords = ['OSError: [Errno 28] No space left on device']
    expect(judgeEngine(see({ container }, { lastWords }), endpoint, patience)).toEqual({
      phase: 'starting',
      message: 'The engine does not answer its health check at the moment.',
    })
  },
)

test('a failure is told in one line of bounded length', () => {
  const seen = judgeEngine(
    see({ container: crashLoop() }, { lastWords: [`a\nb ${'x'.repeat(9000)}`] }),
    endpoint,
    patience,
  )
  expect(seen.phase === 'failed' && seen.message).toMatch(/^[^\n]{100,400}$/)
})
