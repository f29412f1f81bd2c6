/** Files that may import each other and the layers in `imports`, but nothing else of this repository. */
export interface Layer {
  name: string
  /** Globs of paths from the repository's root, or the name of a workspace's package */
  files: readonly string[]
  imports: readonly string[]
}

/** Files or packages that only some of the files that could import them by their layer may import. */
export interface Reserved {
  targets: readonly string[]
  /** The rule concerns imports by these files … */
  by: string
  /** … except by these … */
  except: readonly string[]
  /** … and except by files of the target's own feature. */
  exceptOwnFeature?: true
  message: string
}

const base = ['config', 'base', 'ports', 'database', 'jobs', 'http', 'services']

/** Each room imports only rooms above it. Files in no room, such as routes and jobs, may import all rooms. */
const rooms: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  billing: {
    account: [],
    usage: ['account'],
    limits: ['account'],
    processor: ['account'],
    reports: ['account', 'processor'],
    budgets: ['usage'],
  },
  deployments: {
    state: [],
    changes: ['state'],
    serving: ['state', 'changes'],
    scaling: ['state', 'changes', 'serving'],
    fleet: ['state', 'changes', 'serving'],
  },
  inference: {
    protocols: [],
    targets: [],
    arrival: ['protocols', 'targets'],
    relay: ['protocols', 'targets', 'arrival'],
    waiting: ['protocols', 'targets', 'arrival'],
    counting: ['protocols', 'targets', 'arrival', 'relay', 'waiting'],
    sending: ['protocols', 'targets', 'arrival', 'relay', 'waiting', 'counting'],
  },
}

/** What each feature imports besides the layers below all features: only features above it in this list. */
const features: Readonly<Record<string, readonly string[]>> = {
  audit: [],
  idempotency: [],
  mail: ['audit'],
  catalog: [],
  organizations: ['audit'],
  teams: ['audit', 'organizations'],
  metering: [],
  alerts: ['audit', 'mail'],
  accounts: ['audit', 'mail', 'organizations'],
  domains: ['audit', 'organizations', 'accounts'],
  sessions: ['audit', 'accounts'],
  'second-factors': ['audit', 'mail', 'accounts', 'sessions'],
  'service-members': ['audit', 'organizations', 'accounts', 'sessions'],
  'sign-in': [
    'audit',
    'mail',
    'organizations',
    'accounts',
    'domains',
    'sessions',
    'second-factors',
    'service-members',
  ],
  invitations: ['audit', 'mail', 'organizations', 'accounts', 'sessions', 'sign-in'],
  sso: [
    'audit',
    'mail',
    'organizations',
    'teams',
    'accounts',
    'domains',
    'sessions',
    'second-factors',
    'sign-in',
    'invitations',
  ],
  billing: ['audit', 'mail', 'organizations', 'metering', 'alerts', 'teams'],
  placement: ['catalog', 'metering'],
  'own-models': ['audit', 'organizations', 'catalog', 'placement'],
  endpoints: ['audit', 'organizations', 'catalog', 'metering', 'own-models'],
  installation: ['accounts', 'second-factors', 'own-models', 'endpoints'],
  weights: ['catalog', 'own-models', 'placement'],
  deployments: [
    'audit',
    'mail',
    'organizations',
    'teams',
    'catalog',
    'metering',
    'alerts',
    'sessions',
    'billing',
    'placement',
    'own-models',
    'endpoints',
  ],
  members: [
    'audit',
    'organizations',
    'accounts',
    'domains',
    'service-members',
    'invitations',
    'billing',
    'deployments',
  ],
  'own-account': [
    'audit',
    'idempotency',
    'organizations',
    'accounts',
    'sessions',
    'second-factors',
    'service-members',
    'sign-in',
    'invitations',
    'sso',
    'metering',
    'billing',
    'deployments',
  ],
  operators: [
    'audit',
    'metering',
    'mail',
    'catalog',
    'own-models',
    'organizations',
    'accounts',
    'sessions',
    'second-factors',
    'service-members',
    'invitations',
    'sso',
    'alerts',
    'billing',
    'deployments',
    'installation',
    'placement',
  ],
  statistics: ['metering', 'deployments'],
  benchmarks: ['catalog', 'deployments', 'statistics'],
  inference: ['@berth/grammar', 'gateway', 'metering', 'deployments/serving', 'statistics'],
}

/** The layers of features, by their names: `billing` stands for all rooms of billing. */
const withRooms = (names: readonly string[]): string[] =>
  names.flatMap((name) => [name, ...Object.keys(rooms[name] ?? {}).map((room) => `${name}/${room}`)])

const featureNames = withRooms(Object.keys(features))

const featureLayers: readonly Layer[] = Object.entries(features).flatMap(([name, imports]) => {
  const below = [...base, ...withRooms(imports)]
  const own = Object.entries(rooms[name] ?? {}).map(([room, others]) => ({
    name: `${name}/${room}`,
    files: [`server/src/features/${name}/${room}/**`],
    imports: [...below, ...others.map((other) => `${name}/${other}`)],
  }))
  const files = [`server/src/features/${name}/**`]
  return [...own, { name, files, imports: [...below, ...own.map((room) => room.name)] }]
})

const adapters = [
  'identity-provider',
  'mailer',
  'model-hub',
  'model-runtime',
  'model-store',
  'payment-processor',
]
const adapterNames = adapters.map((port) => `${port} adapters`)

const server: readonly Layer[] = [
  { name: 'config', files: ['server/src/config/**'], imports: [] },
  { name: 'base', files: ['server/src/base/**'], imports: ['config'] },
  { name: 'ports', files: ['server/src/ports/**'], imports: [] },
  { name: 'database', files: ['server/src/database/**'], imports: ['base'] },
  { name: 'jobs', files: ['server/src/jobs/**'], imports: ['database'] },
  { name: 'http', files: ['server/src/http/**'], imports: ['config', 'base', 'database'] },
  { name: 'gateway', files: ['server/src/gateway/**'], imports: [] },
  {
    name: 'services',
    files: ['server/src/services.ts'],
    imports: ['config', 'base', 'ports', 'database', 'jobs'],
  },
  ...featureLayers,
  ...adapters.map((port) => ({
    name: `${port} adapters`,
    files: [`server/src/adapters/${port}/**`],
    imports: ['config', 'base', 'ports'],
  })),
  {
    name: 'wiring',
    files: ['server/src/wiring/**'],
    imports: ['@berth/payment-sandbox', ...adapterNames, ...featureNames, ...base],
  },
  { name: 'process', files: ['server/src/process/**'], imports: ['wiring', ...featureNames, ...base] },
]

const consoleParts = ['base', 'routing', 'text', 'api', 'components'].map((part) => `console ${part}`)
const consoleFeatures = [
  'auth',
  'billing',
  'catalog',
  'deployments',
  'organization',
  'playground',
  'profile',
  'server',
  'usage',
]

const consoleLayers: readonly Layer[] = [
  { name: 'contract', files: ['console/src/{contract,operations}.ts', 'console/openapi.d.ts'], imports: [] },
  { name: 'schedules', files: ['console/src/schedules*.ts'], imports: ['contract'] },
  { name: 'engine options', files: ['console/src/engine-options*.ts'], imports: ['contract'] },
  { name: 'console base', files: ['console/src/{browser,class-names,format,theme}*.ts'], imports: [] },
  { name: 'console routing', files: ['console/src/routing/**'], imports: ['contract'] },
  { name: 'console text', files: ['console/src/text/**'], imports: ['contract'] },
  { name: 'console api', files: ['console/src/api/**'], imports: ['contract', 'console text'] },
  {
    name: 'console components',
    files: ['console/src/components/**'],
    imports: ['console base', 'console routing', 'console text', 'console api'],
  },
  {
    name: 'console domain',
    files: ['console/src/domain/**'],
    imports: ['contract', 'engine options', ...consoleParts],
  },
  {
    name: 'console shell',
    files: ['console/src/shell/**'],
    imports: ['contract', 'console domain', ...consoleParts],
  },
  ...consoleFeatures.map((name) => ({
    name: `console ${name}`,
    files: [`console/src/features/${name}/**`],
    imports: ['contract', 'schedules', 'engine options', 'console domain', ...consoleParts],
  })),
  {
    name: 'console app',
    files: ['console/src/{commands,main,router}.tsx', 'console/src/styles.css'],
    imports: [
      'console shell',
      'console domain',
      ...consoleParts,
      ...consoleFeatures.map((name) => `console ${name}`),
    ],
  },
]

const engineRooms = ['base', 'calls', 'template', 'model', 'chat', 'completions', 'http'].map(
  (room) => `engine ${room}`,
)

const engine: readonly Layer[] = [
  { name: 'engine base', files: ['engine/src/base/**'], imports: [] },
  { name: 'engine calls', files: ['engine/src/calls/**'], imports: ['engine base', '@berth/grammar'] },
  {
    name: 'engine template',
    files: ['engine/src/template/**'],
    imports: ['engine base', 'engine calls', '@berth/grammar'],
  },
  { name: 'engine model', files: ['engine/src/model/**'], imports: ['engine base', 'engine template'] },
  {
    name: 'engine chat',
    files: ['engine/src/chat/**'],
    imports: ['@berth/grammar', ...['base', 'calls', 'template', 'model'].map((room) => `engine ${room}`)],
  },
  {
    name: 'engine completions',
    files: ['engine/src/completions/**'],
    imports: ['engine base', 'engine model', 'engine chat'],
  },
  {
    name: 'engine http',
    files: ['engine/src/http/**'],
    imports: ['engine base', 'engine model', 'engine chat', 'engine completions'],
  },
  { name: 'engine supervisor', files: ['engine/src/supervisor/**'], imports: ['engine base'] },
  {
    name: 'engine',
    files: ['engine/src/main.ts', 'engine/src/check-template.ts', 'engine/src/probe.ts'],
    imports: engineRooms,
  },
  { name: 'engine tests', files: ['engine/test/**'], imports: ['engine', 'bench', ...engineRooms] },
]

const cli: readonly Layer[] = [
  { name: 'cli base', files: ['cli/src/base/**', 'cli/package.json'], imports: [] },
  { name: 'cli api', files: ['cli/src/api/**'], imports: ['contract', 'cli base'] },
  { name: 'cli apply', files: ['cli/src/apply/**'], imports: ['contract', 'cli base', 'cli api'] },
  { name: 'cli bill', files: ['cli/src/bill/**'], imports: [] },
  { name: 'cli proxy', files: ['cli/src/proxy/**'], imports: ['cli base'] },
  {
    name: 'cli commands',
    files: ['cli/src/commands/**'],
    imports: [
      'contract',
      'schedules',
      'engine options',
      'cli base',
      'cli api',
      'cli apply',
      'cli bill',
      'cli proxy',
    ],
  },
  { name: 'cli program', files: ['cli/src/program/**'], imports: ['cli base', 'cli commands'] },
  { name: 'cli', files: ['cli/src/main.ts'], imports: ['cli base', 'cli program'] },
]

/** Files under `src` belong to the first layer that names them; files of no layer import freely. */
export const layers: readonly Layer[] = [
  ...server,
  ...consoleLayers,
  { name: '@berth/payment-sandbox', files: ['@berth/payment-sandbox'], imports: [] },
  { name: 'payment sandbox', files: ['payment-sandbox/src/**'], imports: [] },
  { name: '@berth/grammar', files: ['@berth/grammar/**', 'grammar/src/**'], imports: [] },
  ...engine,
  ...cli,
  { name: 'tools', files: ['tools/**'], imports: [] },
  { name: 'bench', files: ['bench/**'], imports: ['database', 'gateway', 'tools'] },
]

export const reserved: readonly Reserved[] = [
  {
    targets: ['server/src/http/**'],
    by: 'server/src/features/**',
    except: ['server/src/features/**/*{routes,schemas}.ts'],
    message: 'Only routes and schemas know HTTP.',
  },
  {
    targets: ['fastify', '@fastify/*'],
    by: 'server/src/**',
    except: ['server/src/process/**', 'server/src/http/**', 'server/src/features/**/*{routes,schemas}.ts'],
    message: 'Only routes and the HTTP kit know Fastify.',
  },
  {
    targets: ['server/src/features/**/*store.ts'],
    by: 'server/src/**',
    except: [],
    exceptOwnFeature: true,
    message: 'Call a use case of the feature that owns the store.',
  },
  {
    targets: ['server/src/features/**/*{routes,jobs}.ts'],
    by: 'server/src/**',
    except: ['server/src/process/**'],
    exceptOwnFeature: true,
    message: 'server.ts registers routes, worker.ts runs jobs.',
  },
]
