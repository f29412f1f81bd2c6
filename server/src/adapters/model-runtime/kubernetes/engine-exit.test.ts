import { expect, test } from 'vitest'
import { evaluateEngine } from './observe.ts'
import type { EngineSnapshot } from './observe.ts'
import { crashLoop, endpoint, ended, makeEvent, timeouts, running, makeSnapshot } from './pod-fixtures.ts'

/** llama-server's output, from the messages in its sources (common/hf-cache.cpp, common/download.cpp). */
const hubErrors = {
  denied: [
    '0.00.412.031 E get_repo_commit: error: GET failed (401): Invalid username or password.',
    '0.00.412.052 W get_repo_files: failed to resolve commit for o/m-GGUF',
    'error: failed to download model from Hugging Face',
  ],
  missing: [
    '0.00.388.114 E get_repo_commit: error: GET failed (404): Repository not found',
    '0.00.388.140 W get_repo_files: failed to resolve commit for o/m-GGUF',
    'error: failed to download model from Hugging Face',
  ],
  missingFile: [
    "0.00.731.207 E common_download_get_hf_plan: file 'x.gguf' not found in repository",
    '0.00.731.211 I Available GGUF files:',
    '0.00.731.212 I  - m-1.gguf',
    'error: failed to download model from Hugging Face',
  ],
  missingUrl: [
    "E srv  llama_server: failed to download model: Download 'https://x.y/m.gguf' failed with status code: 404",
  ],
  unreachable: [
    '0.30.031.551 E get_repo_commit: error: HTTPLIB failed: Could not establish connection',
    '0.30.031.573 W get_repo_files: failed to resolve commit for o/m-GGUF',
    'error: failed to download model from Hugging Face',
  ],
  outage: ['0.00.388.114 E get_repo_commit: error: GET failed (503): Service Unavailable'],
}

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
    'llama.cpp: a gated model',
    makeSnapshot({ container: crashLoop() }, { lastLines: hubErrors.denied }),
    'model_download',
    'download_failed',
    /HF_TOKEN\. Engine log: .*GET failed \(401\)/,
  ],
  [
    'llama.cpp: a model that does not exist',
    makeSnapshot({ container: { state: ended(1) } }, { lastLines: hubErrors.missing }),
    'model_download',
    'model_not_found',
    /were not found .*GET failed \(404\)/,
  ],
  [
    'llama.cpp: a file that does not exist',
    makeSnapshot({ container: { state: ended(1) } }, { lastLines: hubErrors.missingFile }),
    'model_download',
    'model_not_found',
    /were not found .*file 'x\.gguf' not found in repository\.$/,
  ],
  [
    'llama.cpp: no weights at a URL',
    makeSnapshot({ container: { state: ended(1) } }, { lastLines: hubErrors.missingUrl }),
    'model_download',
    'model_not_found',
    /were not found .*status code: 404\.$/,
  ],
  [
    'llama.cpp: the hub is unreachable',
    makeSnapshot({ container: crashLoop() }, { lastLines: hubErrors.unreachable }),
    'model_download',
    'download_failed',
    /could not be downloaded/,
  ],
  [
    'llama.cpp: the hub has an outage',
    makeSnapshot({ container: crashLoop() }, { lastLines: hubErrors.outage }),
    'model_download',
    'download_failed',
    /could not be downloaded/,
  ],
  [
    'llama.cpp: a cached model that no longer exists on the hub and does not fit',
    makeSnapshot(
      { container: crashLoop() },
      { lastLines: [...hubErrors.missing.slice(0, 1), 'cudaMalloc failed: out of memory'] },
    ),
    'model_launch',
    'out_of_memory',
    /cudaMalloc/,
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
    /exit code 139\. Last log line: Segmentation fault\.$/,
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
    message:
      'The engine was killed (exit code 137) and was restarted. The engine has loaded the model and is almost ready.',
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
