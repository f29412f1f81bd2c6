import { describeContinue, describeOpencode } from '../connect/programs.ts'
import type { Connection } from '../connect/programs.ts'

/** What a program is started with. */
export interface Started {
  args: string[]
  env: Record<string, string>
  /** Settings in files of the launch's own folder, by name */
  files?: Record<string, string>
  /** The content of the file at `settingsPath` */
  settings?: string
}

/**
 * How a program takes a connection. By arguments, environment and files of its own where it can, so that a
 * person's settings stay as they are.
 */
export interface Launcher {
  command: string
  /** Agents need a long context and tools. */
  isAgent: boolean
  /** A file of the person's, below the home directory, which is put back when the program ends */
  settingsPath?: string
  /** `folder` is where the files are written. */
  describe: (connection: Connection, folder: string) => Started
}

const codexProvider = 'model_providers.berth'

/**
 * The programs that can be launched, by name. None reports to its vendor or updates itself, because they run
 * on your own server.
 */
export const launchers: Readonly<Record<string, Launcher>> = {
  claude: {
    command: 'claude',
    isAgent: true,
    describe({ url, key, model }, folder) {
      const env = {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_AUTH_TOKEN: key,
        ANTHROPIC_API_KEY: '',
        ANTHROPIC_MODEL: model.id,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model.id,
        ANTHROPIC_DEFAULT_SONNET_MODEL: model.id,
        ANTHROPIC_DEFAULT_OPUS_MODEL: model.id,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        // It would assume a million tokens for a model that it doesn't know.
        ...(model.max_model_len !== null && { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(model.max_model_len) }),
      }
      // The person's settings may set the same variables, and win over the environment.
      const name = 'claude.json'
      return {
        args: ['--settings', `${folder}/${name}`, '--model', model.id],
        env,
        files: { [name]: JSON.stringify({ env }) },
      }
    },
  },
  codex: {
    command: 'codex',
    isAgent: true,
    describe({ url, key, model }) {
      const settings = [
        'model_provider="berth"',
        `${codexProvider}.name="Berth"`,
        `${codexProvider}.base_url="${url}/v1"`,
        `${codexProvider}.env_key="BERTH_KEY"`,
        `${codexProvider}.wire_api="responses"`,
        'analytics.enabled=false',
        'feedback.enabled=false',
        'check_for_update_on_startup=false',
        ...(model.max_model_len === null ? [] : [`model_context_window=${model.max_model_len}`]),
      ]
      return {
        args: [...settings.flatMap((setting) => ['-c', setting]), '--model', model.id],
        env: { BERTH_KEY: key },
      }
    },
  },
  opencode: {
    command: 'opencode',
    isAgent: true,
    describe: (connection) => ({
      args: [],
      env: {
        OPENCODE_CONFIG_CONTENT: JSON.stringify({
          ...describeOpencode(connection),
          autoupdate: false,
          share: 'disabled',
        }),
        OPENCODE_DISABLE_MODELS_FETCH: '1',
      },
    }),
  },
  continue: {
    command: 'cn',
    isAgent: true,
    settingsPath: '.continue/config.yaml',
    describe: (connection) => ({
      args: [],
      env: { CONTINUE_TELEMETRY_ENABLED: '0' },
      settings: `${describeContinue(connection)}\n`,
    }),
  },
  aider: {
    command: 'aider',
    isAgent: false,
    describe({ url, key, model }, folder) {
      const context = model.max_model_len
      const name = `openai/${model.id}`
      // Aider knows the limits of its vendors' models only.
      const limits = { max_input_tokens: context, litellm_provider: 'openai', mode: 'chat' }
      const file = 'aider-models.json'
      return {
        args: ['--model', name, ...(context === null ? [] : ['--model-metadata-file', `${folder}/${file}`])],
        env: {
          OPENAI_API_BASE: `${url}/v1`,
          OPENAI_API_KEY: key,
          AIDER_ANALYTICS: 'false',
          AIDER_CHECK_UPDATE: 'false',
          LITELLM_LOCAL_MODEL_COST_MAP: 'True',
        },
        files: { [file]: JSON.stringify({ [name]: limits }) },
      }
    },
  },
  'open-webui': {
    command: 'open-webui',
    isAgent: false,
    describe: ({ url, key }) => ({
      args: ['serve'],
      env: {
        OPENAI_API_BASE_URL: `${url}/v1`,
        OPENAI_API_BASE_URLS: `${url}/v1`,
        OPENAI_API_KEY: key,
        OPENAI_API_KEYS: key,
        // It would use the address of the first launch forever.
        ENABLE_PERSISTENT_CONFIG: 'False',
        ENABLE_OLLAMA_API: 'False',
        ENABLE_VERSION_UPDATE_CHECK: 'False',
      },
    }),
  },
}
