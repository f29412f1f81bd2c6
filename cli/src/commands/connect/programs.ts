import type { Model } from '../../../../console/src/contract.ts'

/** A connection that a program uses. */
export interface Connection {
  /** The origin of the proxy */
  url: string
  key: string
  model: Model
}

/** The settings of a program, as people write them. */
const programs = {
  codex: ({
    url,
    key,
    model,
  }) => `# ~/.codex/berth.config.toml, used by: BERTH_KEY=${key} codex --profile berth
model = ${JSON.stringify(model.id)}
model_provider = "berth"${model.max_model_len === null ? '' : `\nmodel_context_window = ${model.max_model_len}`}

[model_providers.berth]
name = "Berth"
base_url = "${url}/v1"
env_key = "BERTH_KEY"
wire_api = "responses"`,

  claude: ({ url, key, model }) => `export ANTHROPIC_BASE_URL=${url}
export ANTHROPIC_AUTH_TOKEN=${key}
export ANTHROPIC_MODEL=${model.id}
export ANTHROPIC_DEFAULT_HAIKU_MODEL=${model.id}${model.max_model_len === null ? '' : `\nexport CLAUDE_CODE_MAX_CONTEXT_TOKENS=${model.max_model_len}`}
claude`,

  opencode: (connection) => `# opencode.json in your project, or ~/.config/opencode/opencode.json
${JSON.stringify(describeOpencode(connection), null, 2)}`,

  continue: (connection) => `# ~/.continue/config.yaml
${describeContinue(connection)}`,

  aider: ({ url, key, model }) => `export OPENAI_API_BASE=${url}/v1
export OPENAI_API_KEY=${key}
aider --model openai/${model.id}`,

  'open-webui': ({ url, key }) => `export OPENAI_API_BASE_URL=${url}/v1
export OPENAI_API_KEY=${key}
open-webui serve`,

  litellm: ({
    url,
    key,
    model,
  }) => `# config.yaml, used by: LITELLM_MASTER_KEY=sk-your-own litellm --config config.yaml
model_list:
  - model_name: ${model.id}
    litellm_params:
      model: openai/${model.id}
      api_base: ${url}/v1
      api_key: ${key}`,

  langchain: ({ url, key, model }) => `from langchain_openai import ChatOpenAI, OpenAIEmbeddings

connection = {"base_url": "${url}/v1", "api_key": "${key}"}
chat = ChatOpenAI(model="${model.id}", **connection)
# Berth needs texts: LangChain would send token ids of OpenAI's tokenizer.
embeddings = OpenAIEmbeddings(model="berth-tiny-embedding", check_embedding_ctx_length=False, **connection)`,
} satisfies Record<string, (connection: Connection) => string>

export type ProgramName = keyof typeof programs

/** Writes the settings with which a program uses a connection. */
export function describeProgram(name: ProgramName, connection: Connection): string {
  return programs[name](connection)
}

/** The configuration of opencode, which compacts a conversation at the limit of the model. */
export function describeOpencode({ url, key, model }: Connection) {
  const context = model.max_model_len
  const limit = context === null ? {} : { limit: { context, output: Math.floor(context / 2) } }
  return {
    $schema: 'https://opencode.ai/config.json',
    provider: {
      berth: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Berth',
        options: { baseURL: `${url}/v1`, apiKey: key },
        models: { [model.id]: { name: model.id, ...limit } },
      },
    },
    model: `berth/${model.id}`,
  }
}

/** The configuration of Continue. */
export function describeContinue({
  url,
  key,
  model: { id, capabilities, max_model_len: context },
}: Connection) {
  return `name: Berth
version: 1.0.0
schema: v1
models:
  - name: ${JSON.stringify(id)}
    provider: openai
    model: ${JSON.stringify(id)}
    apiBase: ${url}/v1
    apiKey: ${key}
    roles: [chat, edit, apply]${capabilities.includes('tools') ? '\n    capabilities: [tool_use]' : ''}${context === null ? '' : `\n    defaultCompletionOptions: { contextLength: ${context} }`}`
}
