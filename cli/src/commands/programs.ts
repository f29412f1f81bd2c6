import type { Model } from '../../../console/src/contract.ts'

/** A connection that a program uses. */
export interface Connection {
  /** The origin of the proxy */
  url: string
  key: string
  model: Model
}

/** How a program takes a connection: where it can, without a change to the person's settings */
export interface Program {
  /** Missing if the program can't be launched */
  command?: string
  /** The command that installs it */
  installation?: string
  /** Agents need a long context and tools. */
  isAgent?: boolean
  env?: (connection: Connection) => Record<string, string>
  args?: (connection: Connection) => string[]
  /** A file for the launch alone, and the option that names it; null if the program needs none */
  file?: (connection: Connection) => { option: string; name: string; content: object } | null
  /** A file of the person's, below the home directory, which is put back when the program ends */
  settingsPath?: string
  settings?: (connection: Connection) => string
  /** The settings as people write them; by default the file of settings, or a shell's commands */
  describe?: (connection: Connection) => string
}

/** The programs by name. None reports to its vendor or updates itself: they run on your own server. */
export const programs: Readonly<Record<string, Program>> = {
  claude: {
    command: 'claude',
    installation: 'npm install --global @anthropic-ai/claude-code',
    isAgent: true,
    env: claudeEnv,
    args: ({ model }) => ['--model', model.id],
    // The person's settings may set the same variables, and win over the environment.
    file: (connection) => ({
      option: '--settings',
      name: 'claude.json',
      content: { env: claudeEnv(connection) },
    }),
  },
  codex: {
    command: 'codex',
    installation: 'npm install --global @openai/codex',
    isAgent: true,
    env: ({ key }) => ({ BERTH_KEY: key }),
    args: (connection) => codexSettings(connection).flatMap((pair) => ['-c', pair.join('=')]),
    describe: (connection) =>
      [
        `# ~/.codex/berth.config.toml, used by: BERTH_KEY=${connection.key} codex --profile berth`,
        ...codexSettings(connection).map((pair) => pair.join(' = ')),
      ].join('\n'),
  },
  opencode: {
    command: 'opencode',
    installation: 'npm install --global opencode-ai',
    isAgent: true,
    env: (connection) => ({
      OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeSettings(connection)),
      OPENCODE_DISABLE_MODELS_FETCH: '1',
    }),
    describe: (connection) => `# opencode.json in your project, or ~/.config/opencode/opencode.json
${JSON.stringify(opencodeSettings(connection), null, 2)}`,
  },
  continue: {
    command: 'cn',
    installation: 'npm install --global @continuedev/cli',
    isAgent: true,
    env: () => ({ CONTINUE_TELEMETRY_ENABLED: '0' }),
    settingsPath: '.continue/config.yaml',
    settings: ({ url, key, model: { id, capabilities, max_model_len: context } }) => `name: Berth
version: 1.0.0
schema: v1
models:
  - name: ${JSON.stringify(id)}
    provider: openai
    model: ${JSON.stringify(id)}
    apiBase: ${url}/v1
    apiKey: ${key}
    roles: [chat, edit, apply]${capabilities.includes('tools') ? '\n    capabilities: [tool_use]' : ''}${context === null ? '' : `\n    defaultCompletionOptions: { contextLength: ${context} }`}`,
  },
  aider: {
    command: 'aider',
    installation: 'pipx install aider-chat',
    env: ({ url, key }) => ({
      OPENAI_API_BASE: `${url}/v1`,
      OPENAI_API_KEY: key,
      AIDER_ANALYTICS: 'false',
      AIDER_CHECK_UPDATE: 'false',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    }),
    args: ({ model }) => ['--model', `openai/${model.id}`],
    // Aider knows the limits of its vendors' models only.
    file({ model: { id, max_model_len: context } }) {
      if (context === null) return null
      const limits = { max_input_tokens: context, litellm_provider: 'openai', mode: 'chat' }
      const content = { [`openai/${id}`]: limits }
      return { option: '--model-metadata-file', name: 'aider-models.json', content }
    },
  },
  'open-webui': {
    command: 'open-webui',
    installation: 'pipx install open-webui',
    env: ({ url, key }) => ({
      OPENAI_API_BASE_URL: `${url}/v1`,
      OPENAI_API_BASE_URLS: `${url}/v1`,
      OPENAI_API_KEY: key,
      OPENAI_API_KEYS: key,
      // It would use the address of the first launch forever.
      ENABLE_PERSISTENT_CONFIG: 'False',
      ENABLE_OLLAMA_API: 'False',
      ENABLE_VERSION_UPDATE_CHECK: 'False',
    }),
    args: () => ['serve'],
  },
  litellm: {
    describe: ({
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
  },
  langchain: {
    describe: ({ url, key, model }) => `from langchain_openai import ChatOpenAI, OpenAIEmbeddings

connection = {"base_url": "${url}/v1", "api_key": "${key}"}
chat = ChatOpenAI(model="${model.id}", **connection)
# Berth needs texts: LangChain would send token ids of OpenAI's tokenizer.
embeddings = OpenAIEmbeddings(model="berth-tiny-embedding", check_embedding_ctx_length=False, **connection)`,
  },
}

/** Writes the settings with which a program uses a connection. */
export function describeProgram(name: string, connection: Connection): string {
  const { command, env, args, settingsPath, settings, describe } = programs[name]!
  if (describe) return describe(connection)
  if (settings) return `# ~/${settingsPath}\n${settings(connection)}`
  const exports = Object.entries(env?.(connection) ?? {}).map((pair) => `export ${pair.join('=')}`)
  return [...exports, [command, ...(args?.(connection) ?? [])].join(' ')].join('\n')
}

function claudeEnv({ url, key, model: { id, max_model_len: context } }: Connection): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_API_KEY: '',
    ANTHROPIC_MODEL: id,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: id,
    ANTHROPIC_DEFAULT_SONNET_MODEL: id,
    ANTHROPIC_DEFAULT_OPUS_MODEL: id,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    // It would assume a million tokens for a model that it doesn't know.
    ...(context !== null && { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(context) }),
  }
}

/** Names and values in TOML. */
function codexSettings({ url, model: { id, max_model_len: context } }: Connection): [string, string][] {
  const settings = {
    model_provider: 'berth',
    'model_providers.berth.name': 'Berth',
    'model_providers.berth.base_url': `${url}/v1`,
    'model_providers.berth.env_key': 'BERTH_KEY',
    'model_providers.berth.wire_api': 'responses',
    'analytics.enabled': false,
    'feedback.enabled': false,
    check_for_update_on_startup: false,
    ...(context !== null && { model_context_window: context }),
    model: id,
  }
  return Object.entries(settings).map(([name, value]) => [name, JSON.stringify(value)])
}

/** opencode compacts a conversation at the limit of the model. */
function opencodeSettings({ url, key, model: { id, max_model_len: context } }: Connection): object {
  const limit = context === null ? {} : { limit: { context, output: Math.floor(context / 2) } }
  return {
    $schema: 'https://opencode.ai/config.json',
    provider: {
      berth: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Berth',
        options: { baseURL: `${url}/v1`, apiKey: key },
        models: { [id]: { name: id, ...limit } },
      },
    },
    model: `berth/${id}`,
    autoupdate: false,
    share: 'disabled',
  }
}
