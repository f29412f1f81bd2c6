import { z } from 'zod'

// Fields differ between versions; those that Berth can do without are optional.

const count = z.number().nonnegative()
const text = z.string().max(10_000)

export const version = z.object({ version: text })

/** Bytes, or text such as `24564MiB` in responses without `detailed`. */
const videoMemory = z.union([
  count,
  z.string().transform((value) => (Number.parseFloat(value) || 0) * (value.endsWith('MiB') ? 2 ** 20 : 1)),
])

export const clusterInfo = z.array(
  z.object({
    node_type: text,
    ip_address: text,
    gpu_count: count.nullish(),
    gpu_vram_total: videoMemory.nullish(),
    gpu_vram_available: videoMemory.nullish(),
    mem_available: count.nullish(),
    mem_total: count.nullish(),
    cpu_count: count.nullish(),
    /** Of a worker's Xinference; since 4.0 */
    software_version: text.nullish(),
  }),
)

export const status = z.object({
  /** Seconds */
  uptime: z.number().nullish(),
  workers: z.record(
    z.string(),
    z.object({
      failure_remaining_count: z.number().nullish(),
      status: z.record(z.string(), z.unknown()).nullish(),
    }),
  ),
})

export const gpuStatus = z.object({ name: text.nullish(), mem_total: count, mem_free: count.nullish() })

export const models = z.object({
  data: z.array(
    z.object({
      id: text,
      address: text.nullish(),
      accelerators: z.array(z.union([z.string(), z.number()]).transform(String)).nullish(),
    }),
  ),
})

export const model = z.object({ model_name: text.nullish() })

/** Whether a replica reports an error: one being created can have the status ERROR without a message. */
const replicaHasFailed = z.union([
  z.object({ status: z.literal('ERROR'), error_message: z.string().min(1) }).transform(() => true),
  z.unknown().transform(() => false),
])

/** Until 3.0, the instance of a launch that failed stays CREATING. Only its replicas say that they failed. */
export const instances = z.array(
  z
    .object({
      model_uid: text,
      model_name: text.nullish(),
      status: text,
      instance_created_ts: z.number().nullish(),
      replica_statuses: z.array(replicaHasFailed).nullish(),
    })
    .transform(({ replica_statuses: replicas, ...instance }) => {
      const hasFailed = replicas != null && replicas.length > 0 && replicas.every(Boolean)
      return hasFailed ? { ...instance, status: 'ERROR' } : instance
    }),
)

export const replicas = z.array(z.object({ status: text.nullish(), error_message: text.nullish() }))

export const events = z.array(
  z.object({
    event_type: z.union([z.string(), z.number()]).transform(String),
    /** Seconds since the epoch */
    event_ts: z.number(),
    event_content: z.string(),
  }),
)

export const progress = z.object({
  progress: z.number(),
  /** `pending`, `launching`, `downloading` or `loading`; since Xinference 3.2.1, like `download_files` */
  stage: text.nullish(),
  download_files: z
    .array(z.object({ downloaded_bytes: count.nullish(), total_bytes: count.nullish() }))
    .nullish(),
})

const engineSpec = z.object({
  model_format: text.nullish(),
  model_size_in_billions: z.union([z.string(), z.number()]).nullish(),
  quantizations: z.array(z.string()).nullish(),
  quantization: z.string().nullish(),
})

/** Each engine with the specs it can run, or the reason why it can't run any. */
export const engines = z.record(
  z.string(),
  z.union([z.array(engineSpec), z.string(), z.unknown().transform(() => '')]),
)

/** The models that a cluster can launch. Only detailed lists have specs. */
export const registrations = z.array(
  z.object({ model_name: text, model_specs: z.array(engineSpec).nullish() }),
)

/** A registered model; `model_specs` has the engine that registered it. */
export const uploadModel = z.object({ model_specs: z.array(z.object({ model_id: text.nullish() })) })

export type Registrations = z.output<typeof registrations>
export type EngineSpecs = z.output<typeof engines>
export type ModelEvent = z.output<typeof events>[number]
