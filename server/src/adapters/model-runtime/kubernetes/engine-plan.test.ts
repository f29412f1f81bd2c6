import { describe, expect, test } from 'vitest'
import type { EngineSpec, InstanceType } from '../../../ports/model-runtime.ts'
import type { ModelVariant } from '../../../ports/model-variant.ts'
import { listEngines, listFormats, planEngine } from './engine-plan.ts'
import { buildObjects } from './objects.ts'

const settings = {
  namespace: 'berth',
  images: { vllm: 'vllm:1', llamaCpp: 'llama.cpp:1' },
  gpusPerNode: 8,
  gpuMemoryShare: 0.9,
  modelCache: { kind: 'claim' as const, name: 'weights' },
  huggingFace: { endpoint: 'https://huggingface.co', token: 'hf_secret' },
  proxy: { http: null, https: 'http://u:p@proxy:3128', exceptions: 'svc' },
  mediaDomains: ['images.example'],
  privateNetworks: [],
  server: { url: 'http://berth.berth.svc', port: 8080 },
}
const l4: InstanceType = {
  name: 'l4-x1',
  region: 'here',
  vendor: 'nvidia',
  gpuModel: 'NVIDIA L4',
  gpuCount: 1,
  gpuMemoryBytes: 1,
  computeCapability: 8.9,
  pricePerHour: '1',
  nodeSelector: { gpu: 'l4' },
  tolerations: [{ key: 'spot', operator: 'Exists' }],
}

function makeSpec(variant: Partial<ModelVariant>, gpuCount = 1): EngineSpec {
  return {
    engineId: '01a1f829-f5d2-744f-b788-baaa79e8fa26',
    deploymentId: '01a1f829-f5d2-744f-b788-baaa79e8fa27',
    modelUid: 'dep-1',
    servedModelName: 'my-model',
    apiKey: 'engine-secret',
    clusterId: null,
    instanceType: l4.name,
    gpuCount,
    memoryBytes: 1,
    contextTokens: 8192,
    parallelSequences: 4,
    variant: {
      modelName: 'qwen3',
      modelType: 'LLM',
      format: 'pytorch',
      sizeInBillions: 7,
      quantization: 'none',
      contextLength: 32_768,
      architecture: null,
      weightBytes: 100 * 2 ** 30,
      weights: { kind: 'huggingface', repo: 'Qwen/Qwen3', revision: 'main', files: [] },
      engines: {},
      ...variant,
    },
  }
}

function plan(variant: Partial<ModelVariant>, gpuCount = 1, type = l4, localFileBytes: number | null = null) {
  const result = planEngine(makeSpec(variant, gpuCount), type, settings, localFileBytes)
  return 'plan' in result ? result.plan : { refusal: result.refusal, args: [] as string[] }
}

const gguf = (more: Partial<Extract<ModelVariant['weights'], { kind: 'huggingface' }>> = {}) => ({
  format: 'ggufv2',
  weights: {
    kind: 'huggingface' as const,
    repo: 'o/m-GGUF',
    revision: 'main',
    files: ['m-2.gguf', 'm-1.gguf'],
    ...more,
  },
})

const upload = {
  format: 'ggufv2',
  weights: { kind: 'upload' as const, sha256: 'ab12', fileName: 'tuned.gguf' },
}

const localFile = { format: 'ggufv2', weights: { kind: 'file' as const, path: 'a.gguf' } }

describe('arguments', () => {
  const valueOf = (args: string[], name: string) =>
    args.includes(name) ? (args[args.indexOf(name) + 1] ?? '') : undefined

  test('vLLM', () => {
    const { args, ...rest } = plan(
      { engines: { vllm: { toolParser: 'hermes', reasoningParser: 'qwen3', options: { seed: 1 } } } },
      2,
    )
    expect(rest).toEqual({
      engine: 'vllm',
      image: 'vllm:1',
      nodes: 1,
      gpusPerPod: 2,
      startupSeconds: 1200 + 10_240,
      weightParts: 0,
      workerArgs: [],
      hostMemoryBytes: 2 * (8 + 4) * 2 ** 30,
    })
    expect(args.join(' ')).toBe(
      'Qwen/Qwen3 --revision main --tokenizer-revision main --served-model-name my-model dep-1 --host 0.0.0.0 --port 8000 --max-model-len 8192 ' +
        '--max-num-seqs 4 --tensor-parallel-size 2 --gpu-memory-utilization 0.9 --allowed-media-domains images.example --enable-auto-tool-choice --tool-call-parser hermes ' +
        '--reasoning-parser qwen3 --enable-prompt-tokens-details --seed 1',
    )
  })

  test.each<[string, Partial<ModelVariant>, number, string, string | undefined]>([
    ['half precision on GPUs before Ampere, which lack bfloat16', {}, 7.5, '--dtype', 'half'],
    ["the checkpoint's own type on Ampere and later", {}, 8, '--dtype', undefined],
    [
      'no option for an fp8 checkpoint',
      { format: 'fp8', weights: { kind: 'huggingface', repo: 'a/B-FP8', revision: 'main', files: [] } },
      8.9,
      '--quantization',
      undefined,
    ],
    ['fp8 quantization on load for other checkpoints', { format: 'fp8' }, 8.9, '--quantization', 'fp8'],
    ['no option for an awq checkpoint', { format: 'awq' }, 8.9, '--quantization', undefined],
    ['embeddings', { modelType: 'embedding' }, 8.9, '--runner', 'pooling'],
    [
      'embeddings without a tool-call parser',
      { modelType: 'embedding', engines: { vllm: { toolParser: 'hermes' } } },
      8.9,
      '--tool-call-parser',
      undefined,
    ],
    ['ranking', { modelType: 'rerank' }, 8.9, '--runner', 'pooling'],
    [
      'the template that makes one text of a query and a document',
      { modelType: 'rerank', engines: { vllm: { chatTemplate: '{{ messages }}' } } },
      8.9,
      '--chat-template',
      '{{ messages }}',
    ],
    ['a model without a tool-call parser', {}, 8.9, '--enable-auto-tool-choice', undefined],
    [
      'the chat template of the catalog',
      { engines: { vllm: { chatTemplate: '/a.jinja' } } },
      8.9,
      '--chat-template',
      '/a.jinja',
    ],
  ])('vLLM: %s', (_name, variant, computeCapability, option, value) => {
    expect(valueOf(plan(variant, 1, { ...l4, computeCapability }).args, option)).toBe(value)
  })

  test('llama.cpp: slots share the context, and a split file is loaded from its first part', () => {
    expect(plan(gguf()).args.join(' ')).toBe(
      '--hf-repo o/m-GGUF --hf-file m-1.gguf --no-mmproj --alias my-model --ctx-size 32768 --parallel 4 --n-gpu-layers 999 --device CUDA0 ' +
        '--host 0.0.0.0 --port 8000 --metrics --cache-ram 8192 --jinja --reasoning-format deepseek',
    )
  })

  test.each<[string, Partial<ModelVariant>, string]>([
    ['a pinned revision', gguf({ revision: 'abc' }), 'https://huggingface.co/o/m-GGUF/resolve/abc/m-1.gguf'],
    [
      'a URL',
      { format: 'ggufv2', weights: { kind: 'url', url: 'https://example.com/m-1.gguf?key=a' } },
      'https://example.com/m-1.gguf?key=a',
    ],
  ])('llama.cpp: %s has --model beside --model-url, which alone starts no model', (_name, variant, url) => {
    const { args } = plan(variant)
    expect(valueOf(args, '--model-url')).toBe(url)
    // Other parts of a split file have the same prefix, so the file keeps its name.
    expect(valueOf(args, '--model')).toMatch(/^\/cache\/[0-9a-f]{16}\/m-1\.gguf$/)
  })

  test('llama.cpp: a local weights file of at most 8 MB', () => {
    expect(valueOf(plan(localFile, 1, l4, 2_400_000).args, '--model')).toBe('/tmp/model.gguf')
    expect(plan(localFile, 1, l4, 20_000_000)).toMatchObject({
      refusal: expect.stringMatching(/a\.gguf of the catalog has 20 MB, and Berth copies at most 8 MB/),
    })
  })

  test('llama.cpp: a projector makes the model see images', () => {
    const { args } = plan({ ...gguf(), engines: { llamaCpp: { projector: 'mmproj-F16.gguf' } } })
    expect(valueOf(args, '--mmproj-url')).toBe('https://huggingface.co/o/m-GGUF/resolve/main/mmproj-F16.gguf')
    expect(valueOf(args, '--mmproj')).toMatch(/^\/cache\/[0-9a-f]{16}\/mmproj-F16\.gguf$/)
    expect(args).not.toContain('--no-mmproj')
  })

  test('llama.cpp: the pod requests the host memory of its prompt cache', () => {
    const planned = plan(gguf(), 8)
    const cacheBytes = Number(valueOf(planned.args, '--cache-ram')) * 2 ** 20
    expect(planned).toMatchObject({ hostMemoryBytes: cacheBytes + 2 * 2 ** 30 })
  })

  test('llama.cpp: embeds a text in one batch', () => {
    const { args } = plan({ ...gguf(), modelType: 'embedding' })
    expect(args).toContain('--embeddings')
    expect(valueOf(args, '--ubatch-size')).toBe('8192')
    expect(args).not.toContain('--pooling')
  })

  test('llama.cpp: ranks a query with a document in one batch', () => {
    const { args } = plan({ ...gguf(), modelType: 'rerank' })
    expect(args).toContain('--embeddings')
    expect(valueOf(args, '--pooling')).toBe('rank')
    expect(valueOf(args, '--ubatch-size')).toBe('8192')
    expect(args).not.toContain('--jinja')
  })
})

test.each<[string, Partial<ModelVariant>, number]>([
  ['a local weights file that the server does not have', localFile, 1],
  ['vLLM weights from a URL', { weights: { kind: 'url', url: 'https://example.com/a' } }, 1],
  ['an unsupported format', { format: 'mlx' }, 1],
  ['llama.cpp on two nodes', gguf(), 16],
  ['no GGUF file listed', gguf({ files: [] }), 1],
  ["GPUs that can't be divided evenly", {}, 9],
])('refused with a reason: %s', (_name, variant, gpuCount) => {
  expect(plan(variant, gpuCount)).toMatchObject({ refusal: expect.stringMatching(/^\w.*\.$/) })
})

test('refused with a reason: an uploaded file without ENGINE_SERVER_URL', () => {
  const result = planEngine(makeSpec(upload), l4, { ...settings, server: null }, null)
  expect(result).toMatchObject({ refusal: expect.stringContaining('ENGINE_SERVER_URL') })
})

test.each([
  ['vllm/vllm-openai:v0.28.0-cu129', 'ghcr.io/ggml-org/llama.cpp:server-cuda-b10964', ['0.28.0', '10964']],
  ['vllm/vllm-openai:nightly', 'llama.cpp@sha256:b1', [null, null]],
])('versions of %s and %s', (vllm, llamaCpp, versions) => {
  expect(listEngines({ vllm, llamaCpp }).map(({ version }) => version)).toEqual(versions)
})

describe('objects', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'dep', uid: '1' }
  const build = (gpuCount: number) => {
    const spec = makeSpec({}, gpuCount)
    const planned = planEngine(spec, l4, settings, null)
    if (!('plan' in planned)) throw new Error(planned.refusal)
    const { workload, buildDependents } = buildObjects(spec, l4, planned.plan, settings)
    const [secret, service, policy] = buildDependents(owner)
    return JSON.parse(JSON.stringify({ workload, secret, service, policy }))
  }

  test('a pod asks for the resource of its instance type, and tolerates the taints of its GPUs', () => {
    const resourcesOf = (changes: Partial<InstanceType>) => {
      const type = { ...l4, ...changes }
      const spec = makeSpec({})
      const planned = planEngine(spec, type, settings, null)
      if (!('plan' in planned)) throw new Error(planned.refusal)
      const { workload } = buildObjects(spec, type, planned.plan, settings)
      const pod = JSON.parse(JSON.stringify(workload)).spec.template.spec
      const keys = pod.tolerations.map(({ key }: { key: string }) => key)
      return [pod.containers[0].resources.limits, keys.filter((key: string) => key.includes('.com/'))]
    }
    const mig = 'nvidia.com/mig-1g.10gb'
    expect(resourcesOf({})).toEqual([{ 'nvidia.com/gpu': '1' }, ['nvidia.com/gpu']])
    expect(resourcesOf({ resource: mig })).toEqual([{ [mig]: '1' }, ['nvidia.com/gpu', mig]])
    expect(resourcesOf({ vendor: 'amd' })).toEqual([{ 'amd.com/gpu': '1' }, ['amd.com/gpu']])
  })

  test('a pod is unprivileged, has no token, and selects the nodes of its instance type', () => {
    const pod = build(2).workload.spec.template.spec
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      nodeSelector: { gpu: 'l4' },
      tolerations: expect.arrayContaining([{ key: 'spot', operator: 'Exists' }]),
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    })
    const [container] = pod.containers
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(container.resources).toMatchObject({
      limits: { 'nvidia.com/gpu': '2' },
      requests: { cpu: '4', memory: String(24 * 2 ** 30) },
    })
    expect(container.command).toEqual(['vllm', 'serve'])
    expect(container.env).toContainEqual({ name: 'VLLM_CACHE_ROOT', value: '/cache/vllm' })
    expect(container.startupProbe.failureThreshold * container.startupProbe.periodSeconds).toBe(1200 + 10_240)
    expect(pod.volumes).toEqual(
      expect.arrayContaining([
        { name: 'cache', persistentVolumeClaim: { claimName: 'weights' } },
        { name: 'shared-memory', emptyDir: { medium: 'Memory', sizeLimit: String(8 * 2 ** 30) } },
      ]),
    )
  })

  test('a local weights file is carried in Secrets of at most 1 MB, and joined in order', () => {
    const spec = makeSpec(localFile)
    const weights = Buffer.concat([0, 1, 2].map((part) => Buffer.alloc(part === 2 ? 5 : 1_000_000, part)))
    const planned = planEngine(spec, l4, settings, weights.length)
    if (!('plan' in planned)) throw new Error(planned.refusal)
    const { workload, buildDependents } = buildObjects(spec, l4, planned.plan, settings)
    const secrets = JSON.parse(JSON.stringify(buildDependents(owner, weights))).slice(0, 3)
    const joined = Buffer.concat(secrets.map(({ data }: any) => Buffer.from(data.part, 'base64')))
    expect(joined.equals(weights)).toBe(true)
    const pod = JSON.parse(JSON.stringify(workload)).spec.template.spec
    const { sources } = pod.volumes.find(({ name }: any) => name === 'weight-parts').projected
    expect(sources.map(({ secret }: any) => secret)).toEqual(
      secrets.map(({ metadata }: any, index: number) => ({
        name: metadata.name,
        items: [{ key: 'part', path: String(index) }],
      })),
    )
    expect(pod.initContainers).toMatchObject([
      { image: 'llama.cpp:1', command: ['sh', '-c', 'cat /weight-parts/* > /tmp/model.gguf'] },
    ])
  })

  test('an uploaded file is downloaded from the server, with a key that only the Secret has', () => {
    const spec = { ...makeSpec(upload), fileKey: 'file-secret' }
    const planned = planEngine(spec, l4, settings, null)
    if (!('plan' in planned)) throw new Error(planned.refusal)
    const { workload, buildDependents } = buildObjects(spec, l4, planned.plan, settings)
    const [secret, ...others] = JSON.parse(JSON.stringify(buildDependents(owner)))
    expect(JSON.stringify([workload, others])).not.toContain('file-secret')
    expect(Object.keys(secret.data)).toEqual(['engine-key', 'model-url'])
    expect(Buffer.from(secret.data['model-url'], 'base64').toString()).toBe(
      `http://${spec.deploymentId}:file-secret@berth.berth.svc/api/v1/model-files/ab12.gguf`,
    )
    const [container] = JSON.parse(JSON.stringify(workload)).spec.template.spec.containers
    expect(container.args.slice(0, 2)).toEqual(['--model', '/cache/uploads/ab12.gguf'])
    expect(container.env).toContainEqual({
      name: 'LLAMA_ARG_MODEL_URL',
      valueFrom: { secretKeyRef: { name: `dep-${spec.engineId}`, key: 'model-url' } },
    })
    // The file of a stranger gets neither the operator's token nor a way out.
    const names = container.env.map(({ name }: any) => name)
    for (const name of ['HF_TOKEN', 'HTTPS_PROXY', 'NO_PROXY']) expect(names).not.toContain(name)
  })

  test('secrets appear only in the Secret', () => {
    const { secret, ...others } = build(1)
    const text = JSON.stringify(others)
    for (const value of ['engine-secret', 'hf_secret', 'u:p@proxy']) expect(text).not.toContain(value)
    expect(Object.keys(secret.data)).toEqual(['engine-key', 'hf-token', 'https-proxy'])
    expect(secret.metadata.ownerReferences).toEqual([owner])
  })

  test('only Berth reaches the engine; the engine reaches only DNS, HTTPS and its proxy', () => {
    const { spec } = build(1).policy
    expect(spec.ingress ?? spec._ingress).toHaveLength(1)
    expect(spec.egress.flatMap(({ ports = [] }) => ports.map(({ port }: { port: number }) => port))).toEqual([
      53, 53, 443, 3128,
    ])
  })

  test('more GPUs than a node has: a LeaderWorkerSet in which only the leader serves', () => {
    const { workload, service, policy } = build(16)
    expect(workload.kind).toBe('LeaderWorkerSet')
    // By default its headless Service takes the name of our own.
    expect(workload.spec.networkConfig).toEqual({ subdomainPolicy: 'UniquePerReplica' })
    const { size, leaderTemplate, workerTemplate } = workload.spec.leaderWorkerTemplate
    expect(size).toBe(2)
    const [leader, worker] = [leaderTemplate, workerTemplate].map(({ spec }) => spec.containers[0])
    expect(leader.readinessProbe).toBeDefined()
    expect(worker.readinessProbe).toBeUndefined()
    expect(leader.command).toEqual(['vllm', 'serve'])
    expect(leader.args.join(' ')).toContain(
      '--tensor-parallel-size 8 --pipeline-parallel-size 2 --nnodes 2 --node-rank $(LWS_WORKER_INDEX) ' +
        '--master-addr $(LWS_LEADER_ADDRESS) --gpu-memory-utilization 0.9',
    )
    expect(worker.args.filter((each: string) => each !== '--headless')).toEqual(leader.args)
    expect(worker.args).toContain('--headless')
    expect(service.spec.selector).toMatchObject({ 'leaderworkerset.sigs.k8s.io/worker-index': '0' })
    expect(policy.spec.egress).toHaveLength(3)
  })

  test('vLLM on a single GPU has shared memory for its queue of messages', () => {
    const { volumes, containers } = build(1).workload.spec.template.spec
    const emptyDir = { medium: 'Memory', sizeLimit: String(2 ** 29) }
    expect(volumes).toContainEqual({ name: 'shared-memory', emptyDir })
    expect(containers[0].volumeMounts).toContainEqual({ name: 'shared-memory', mountPath: '/dev/shm' })
  })

  test('the same spec builds the same objects', () => {
    expect(build(2)).toEqual(build(2))
  })
})

describe('what the images run on a type', () => {
  const nvidia = { vllm: 'vllm/vllm-openai:v0.32.0', llamaCpp: 'ghcr.io/ggml-org/llama.cpp:server-cuda-b1' }
  const amd = { vllm: 'rocm/vllm:v1', llamaCpp: 'ghcr.io/ggml-org/llama.cpp:server-rocm-b1' }
  const vulkan = { ...nvidia, llamaCpp: 'ghcr.io/ggml-org/llama.cpp:server-vulkan-b1' }
  const summarize = (type: Parameters<typeof listFormats>[0], images: typeof nvidia) => {
    const formats = listFormats(type, images)
    return [formats.includes('pytorch') && 'vLLM', formats.includes('ggufv2') && 'llama.cpp'].filter(Boolean)
  }

  test.each([
    [{ vendor: 'nvidia' as const }, ['vLLM', 'llama.cpp'], [], ['vLLM', 'llama.cpp']],
    [{ vendor: 'amd' as const }, [], ['vLLM', 'llama.cpp'], ['llama.cpp']],
    [{ vendor: 'apple' as const }, [], [], []],
    [
      { vendor: 'nvidia' as const, resource: 'nvidia.com/mig-1g.10gb' },
      ['vLLM', 'llama.cpp'],
      [],
      ['vLLM', 'llama.cpp'],
    ],
    // Nothing keeps vLLM to its part of a GPU in time slices.
    [{ vendor: 'nvidia' as const, resource: 'nvidia.com/gpu.shared' }, ['llama.cpp'], [], ['llama.cpp']],
  ])('%j', (type, onNvidia, onAmd, onVulkan) => {
    expect([nvidia, amd, vulkan].map((images) => summarize(type, images))).toEqual([
      onNvidia,
      onAmd,
      onVulkan,
    ])
  })

  test('llama-server must use the devices of its image', () => {
    const deviceOf = (images: typeof nvidia) => {
      const planned = planEngine(makeSpec(gguf()), l4, { ...settings, images }, null)
      if (!('plan' in planned)) throw new Error(planned.refusal)
      return planned.plan.args[planned.plan.args.indexOf('--device') + 1]
    }
    expect([nvidia, amd, vulkan].map(deviceOf)).toEqual(['CUDA0', 'ROCm0', 'Vulkan0'])
  })
})
