/** What a model is, and what it needs from an engine. */

/**
 * A `file` path is absolute, or relative to the folder of the catalog. An `upload` is in `DATA_DIR/models`.
 * `access`: the token of the installation (default), or of the organization that owns the model. An
 * `endpoint` has the model already: its id, and the model's name there.
 */
export type WeightSource =
  | { kind: 'file'; path: string }
  | { kind: 'url'; url: string; sha256?: string | undefined }
  | { kind: 'upload'; sha256: string; fileName: string }
  | { kind: 'endpoint'; endpoint: string; model: string }
  | {
      kind: 'huggingface'
      repo: string
      revision: string
      files: string[]
      access?: 'installation' | 'organization' | undefined
    }

/** The types of models, in the order of lists. All but `LLM` read texts and generate none. */
export const modelTypes = ['LLM', 'embedding', 'rerank'] as const
export type ModelType = (typeof modelTypes)[number]

/** The facts for the memory estimate. A catalog entry has `null` when they are unknown. */
export interface ModelArchitecture {
  /** All parameters, including every expert */
  parameters: number
  layers: number
  attentionHeads: number
  kvHeads: number
  headDimension: number
  hiddenSize: number
  vocabularySize: number
  /** How many of `layers` attend only to a window of the last tokens; absent for none */
  slidingLayers?: number | undefined
  /** Length of that window in tokens */
  slidingWindow?: number | undefined
  /** KV heads of the sliding layers; absent for `kvHeads` */
  slidingKvHeads?: number | undefined
  /** Head dimension of the sliding layers; absent for `headDimension` */
  slidingHeadDimension?: number | undefined
  /** State bytes per sequence in layers without attention, which `layers` doesn't count; absent for none */
  stateBytes?: number | undefined
}

/** Options of an engine's command line by name, without the leading dashes. */
export type EngineOptions = Record<string, string | number | boolean>

/** What a model family needs from an engine. Omitted fields are not set. */
export interface EngineProfile {
  /** The oldest version that loads the model, such as `0.17.0` of vLLM or `10964` of llama.cpp */
  minimumVersion?: string | undefined
  /** The model's name in the runtime; absent if it is the model's own */
  modelName?: string | undefined
  /** Name of the parser of tool calls */
  toolParser?: string | undefined
  /** Name of the parser of thoughts */
  reasoningParser?: string | undefined
  /** True if the runtime knows the tags of the model's thoughts and can separate them from the answer */
  separatesReasoning?: boolean | undefined
  /** The multimodal projector, in the weights' repository. Without it the model can't see images. */
  projector?: string | undefined
  /** Value of `--chat-template`: Jinja text, a built-in name, or a path where the engine runs */
  chatTemplate?: string | undefined
  options?: EngineOptions | undefined
}

/** What a model family needs from each engine, by `RuntimeEngine.profile`. */
export type EngineProfiles = Readonly<Record<string, EngineProfile | undefined>>

/** LoRA formats: a GGUF file, or PEFT's folder with safetensors and an `adapter_config.json`. */
export const loraFormats = ['lora-gguf', 'lora-peft'] as const
export type LoraFormat = (typeof loraFormats)[number]

/** A LoRA (low-rank adapter), which an engine applies to single requests. */
export interface ModelLora {
  /** Id of the LoRA in the catalog */
  modelId: string
  modelName: string
  format: LoraFormat
  /** The largest rank of its matrices */
  rank: number
  weightBytes: number
  weights: WeightSource
}

/** The format of models that endpoints serve: their weights are unknown. */
export const endpointFormat = 'endpoint'

/** One exact model build. Each deployment stores a copy, so later catalog changes don't affect it. */
export interface ModelVariant {
  modelName: string
  modelType: ModelType
  /** `ggufv2`, `pytorch`, `awq`, `gptq`, `fp8` and so on, named as in Xinference */
  format: string
  sizeInBillions: number
  quantization: string
  /** The context length that the model was trained with, in tokens */
  contextLength: number
  architecture: ModelArchitecture | null
  /** Total size of the weight files in bytes; null when unknown */
  weightBytes: number | null
  weights: WeightSource
  engines: EngineProfiles
}
