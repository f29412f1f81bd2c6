import { expect, test } from 'vitest'
import { evaluateEngine } from './observe.ts'
import type { EngineSnapshot } from './observe.ts'
import {
  crashLoop,
  endpoint,
  ended,
  makeEvent,
  timeouts,
  running,
  makeSnapshot,
} from '../../../../test/support/pods.ts'

/** What llama-server b11669 logs after the first error, whichever it is. */
const afterError = [
  "0.00.090.671 I srv    load_model: loading model 'o/m-GGUF'",
  '0.00.090.731 E llama_model_load_from_file_impl: exactly one out metadata, path_model, and file must be defined',
  '0.00.090.751 E common_fit_params: encountered an error while trying to fit params to free device memory: failed to load model',
  "0.00.090.764 E cmn  common_init_: failed to load model ''",
  "0.00.090.770 E srv    load_model: failed to load model, ''",
  '0.00.090.776 I srv    operator(): operator(): cleaning up before exit...',
  '0.00.090.983 E srv  llama_server: exiting due to model loading error',
]

/** Recorded output of llama-server b11669. */
const hubErrors = {
  denied: [
    '0.00.187.353 E get_repo_commit: error: GET failed (401): Invalid username or password.',
    '0.00.187.367 W get_repo_files: failed to resolve commit for o/m-GGUF',
    ...afterError,
  ],
  missing: [
    '0.00.090.017 E get_repo_commit: error: GET failed (404): Repository not found',
    '0.00.090.038 W get_repo_files: failed to resolve commit for o/m-GGUF',
    ...afterError,
  ],
  missingFile: [
    "0.00.101.728 E common_download_get_hf_plan: file 'x.gguf' not found in repository",
    '0.00.101.763 I Available GGUF files:',
    '0.00.101.763 I  - tiny.gguf',
    ...afterError,
  ],
  missingUrl: [
    "0.00.031.786 E srv  llama_server: failed to download model: Download 'http://127.0.0.1:9911/x/m.gguf' failed with status code: 404",
  ],
  unreachable: [
    '0.00.011.220 E get_repo_commit: error: HTTPLIB failed: Could not establish connection',
    '0.00.012.988 W get_repo_files: failed to resolve commit for o/m-GGUF',
    ...afterError,
  ],
  outage: [
    '0.00.100.429 E get_repo_commit: error: GET failed (503): Service Unavailable',
    '0.00.100.443 W get_repo_files: failed to resolve commit for o/m-GGUF',
    ...afterError,
  ],
}

const memoryError = [
  '0.02.440.543 E ggml_aligned_malloc: insufficient memory (attempted to allocate 39062.50 MB)',
  '0.02.440.701 E ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 40960000000',
  '0.02.440.740 E ggml_backend_buft_alloc_buffer_n_default: failed to allocate CPU buffer of size 40960000000',
  '0.02.503.786 E llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache',
  "0.02.503.836 E cmn  common_init_: failed to create context with model '/tmp/m.gguf'",
  '0.02.509.192 E srv  llama_server: exiting due to model loading error',
]

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
    'llama.cpp: more memory than the node has',
    makeSnapshot({ container: { state: ended(1) } }, { lastLines: memoryError }),
    'model_launch',
    'out_of_memory',
    /more memory than its node has.*failed to allocate buffer for kv cache\.$/,
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
