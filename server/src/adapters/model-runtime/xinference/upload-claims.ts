import type { EngineSpec } from '../../../ports/model-runtime.ts'
import type { ModelVariant } from '../../../ports/model-variant.ts'
import { createSerialQueue } from '../serial-queue.ts'
import { toUploadUrl } from '../upload-url.ts'
import * as schemas from './response-schemas.ts'
import { formatSize } from './launch.ts'
import { SupervisorError } from './errors.ts'
import type { UploadSettings } from './settings.ts'
import type { Supervisor } from './supervisor.ts'
import { isLaunching } from './terminate.ts'

/** So long a claim may have no launch until it counts as left behind by a process that ended. */
const abandonedMilliseconds = 60_000
/** Slower downloads of uploaded files count as stalled. Xinference doesn't see their progress. */
const slowestBytesPerSecond = 5_000_000
const namePattern = /^berth-(LLM|embedding|rerank)-[0-9a-f]{16}$/

/** A model of Xinference that stands for an uploaded file. */
interface UploadModel {
  supervisor: Supervisor
  name: string
}

/**
 * A claim lets one engine download a file to a cluster until it serves or stops; two would damage the file
 * unnoticed. It is the model's registration, whose name a cluster accepts only once.
 */
export class UploadClaims {
  /** The claims that this process has made or found, by engine */
  readonly #names = new Map<string, string>()
  /** Claims of others without a launch: the owner, and since when this process sees it */
  readonly #idle = new Map<string, { owner: string; since: number }>()

  readonly #runSerially = createSerialQueue()

  /** Registers the file for an engine. False while another engine downloads it. Throws SupervisorError. */
  claim(supervisor: Supervisor, spec: EngineSpec): Promise<boolean> {
    const model = { supervisor, name: nameUpload(spec.variant) }
    this.#names.set(spec.modelUid, model.name)
    return this.#runSerially(toKey(model), () => this.#claim(model, spec))
  }

  async #claim(model: UploadModel, spec: EngineSpec): Promise<boolean> {
    const owner = await readOwner(model)
    if (owner !== null) {
      if (owner !== spec.modelUid && !(await this.#isAbandoned(model, owner))) return false
      // Workers that joined later don't have the model.
      await unregister(model)
    }
    return register(model, spec)
  }

  /** Ends the claim of an engine, if it has one. Throws SupervisorError. */
  async end(supervisor: Supervisor, uid: string): Promise<void> {
    const name = this.#names.get(uid) ?? (await supervisor.findInstance(uid))?.modelName ?? ''
    if (!namePattern.test(name)) return
    const model = { supervisor, name }
    if ((await readOwner(model)) === uid) await unregister(model)
    this.#names.delete(uid)
  }

  async #isAbandoned(model: UploadModel, owner: string): Promise<boolean> {
    const key = toKey(model)
    const instance = await model.supervisor.findInstance(owner)
    const seen = this.#idle.get(key)
    if (isLaunching(instance)) this.#idle.delete(key)
    else if (seen?.owner !== owner) this.#idle.set(key, { owner, since: performance.now() })
    else return performance.now() - seen.since > abandonedMilliseconds
    return false
  }
}

function toKey({ supervisor, name }: UploadModel): string {
  return `${supervisor.origin} ${name}`
}

/** The name of the model that stands for an uploaded file. */
export function nameUpload({ modelType, weights }: ModelVariant): string {
  if (weights.kind !== 'upload') throw new TypeError('Only an uploaded file has such a name.')
  return `berth-${modelType}-${weights.sha256.slice(0, 16)}`
}

/** Where an engine downloads an uploaded file, and where all its engines keep it; null for other weights. */
export function locateUpload(
  spec: EngineSpec,
  { serverUrl, folder }: UploadSettings,
): { url: string; path: string } | null {
  const { weights } = spec.variant
  const url = toUploadUrl(spec, serverUrl)
  return url === null || weights.kind !== 'upload' ? null : { url, path: `${folder}/${weights.sha256}.gguf` }
}

/** How long the download of an uploaded file may take, in milliseconds; 0 for other weights. */
export function estimateUploadMs({ weights, weightBytes }: ModelVariant): number {
  return weights.kind === 'upload' ? ((weightBytes ?? 0) / slowestBytesPerSecond) * 1000 : 0
}

/** An engine of an uploaded file, whose model has that name in Xinference. */
export function nameAsUpload(spec: EngineSpec): EngineSpec {
  const { variant } = spec
  const xinference = { ...variant.engines.xinference, modelName: nameUpload(variant) }
  return { ...spec, variant: { ...variant, engines: { ...variant.engines, xinference } } }
}

/** The uid of the engine that registered a model; null for an unknown model. */
async function readOwner({ supervisor, name }: UploadModel): Promise<string | null> {
  const response = await supervisor.request({ method: 'GET', path: toPath(name) })
  // 400 for an unknown name.
  if (response.status === 400 || response.status === 404) return null
  const parsed = schemas.uploadModel.safeParse(response.body)
  if (response.status === 200 && parsed.success) return parsed.data.model_specs[0]?.model_id ?? ''
  throw new SupervisorError(`${supervisor.clusterId} could not read ${name}: ${response.detail}`)
}

/** False if another engine has registered the name in the meantime. */
async function register({ supervisor, name }: UploadModel, spec: EngineSpec): Promise<boolean> {
  const { modelType } = spec.variant
  const response = await supervisor.request({
    method: 'POST',
    path: `/v1/model_registrations/${modelType}`,
    // Not on the disks of the workers, where it would outlive them.
    body: { model: JSON.stringify(describeUpload(name, spec)), persist: false },
  })
  if (response.status === 200) return true
  if (response.status === 400 && /already registered|conflicts with existing/i.test(response.detail))
    return false
  throw new SupervisorError(`${supervisor.clusterId} could not register ${name}: ${response.detail}`)
}

async function unregister({ supervisor, name }: UploadModel): Promise<void> {
  const response = await supervisor.request({ method: 'DELETE', path: toPath(name) })
  if (response.status === 200) return
  throw new SupervisorError(`${supervisor.clusterId} could not remove ${name}: ${response.detail}`)
}

function toPath(name: string): string {
  return `/v1/model_registrations/${namePattern.exec(name)?.[1]}/${name}`
}

/** The model in Xinference's format. It needs no download: the launch says where the file is. */
function describeUpload(name: string, { modelUid, variant }: EngineSpec): Record<string, unknown> {
  const { modelType, format, sizeInBillions, quantization, contextLength } = variant
  const file = {
    model_format: format,
    quantization,
    model_id: modelUid,
    model_file_name_template: 'model.gguf',
  }
  const model = { version: 2, model_name: name }
  switch (modelType) {
    case 'LLM':
      return {
        ...model,
        context_length: contextLength,
        model_lang: ['en'],
        model_ability: ['chat'],
        model_family: name,
        model_specs: [{ ...file, model_size_in_billions: formatSize(sizeInBillions) }],
        // Empty: the template of the file counts.
        chat_template: '',
        stop_token_ids: [],
        stop: [],
      }
    case 'embedding':
      return { ...model, dimensions: 1, max_tokens: contextLength, language: ['en'], model_specs: [file] }
    case 'rerank':
      return { ...model, max_tokens: contextLength, language: ['en'], type: 'normal', model_specs: [file] }
  }
}
