/** A group of files. They may import each other and the layers in `imports`, and nothing else of this repository. */
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
  /** … and except by files in the target's own layer. */
  exceptOwnLayer?: true
  message: string
}

const base = ['base', 'ports', 'database', 'jobs', 'http', 'services']

/** What each feature imports, next to the layers below all features. A feature imports only features above it in this list. */
const features: Readonly<Record<string, readonly string[]>> = {
  audit: [],
  mail: [],
  catalog: [],
  organizations: ['audit'],
  metering: [],
  accounts: ['audit', 'mail', 'organizations'],
  invitations: ['audit', 'mail', 'organizations', 'accounts'],
  sso: ['audit', 'organizations', 'accounts', 'invitations'],
  billing: ['audit', 'mail', 'organizations', 'metering'],
  deployments: ['audit', 'organizations', 'catalog', 'metering', 'accounts', 'billing'],
  members: ['audit', 'organizations', 'accounts', 'invitations', 'sso', 'billing', 'deployments'],
  operators: [
    'audit',
    'mail',
    'catalog',
    'organizations',
    'accounts',
    'invitations',
    'billing',
    'deployments',
  ],
  statistics: ['deployments'],
  inference: ['gateway', 'metering', 'deployments', 'statistics'],
}
const featureNames = Object.keys(features)

const adapters = ['identity-provider', 'mailer', 'model-runtime', 'payment-processor']
const adapterNames = adapters.map((port) => `${port} adapters`)

const server: readonly Layer[] = [
  {
    name: 'base',
    files: [
      'server/src/{bounded-queue,config,errors,format-bytes,free-buffer,log,network,roles,viewer,yaml-file}*.ts',
      'server/src/config/**',
    ],
    imports: [],
  },
  { name: 'ports', files: ['server/src/ports/**'], imports: [] },
  { name: 'database', files: ['server/src/database/**'], imports: [] },
  { name: 'jobs', files: ['server/src/jobs/**'], imports: ['database'] },
  { name: 'http', files: ['server/src/http/**'], imports: ['base', 'database'] },
  { name: 'gateway', files: ['server/src/gateway/**'], imports: [] },
  { name: 'services', files: ['server/src/services.ts'], imports: ['base', 'ports', 'database', 'jobs'] },
  ...Object.entries(features).map(([name, imports]) => ({
    name,
    files: [`server/src/features/${name}/**`],
    imports: [...base, ...imports],
  })),
  ...adapters.map((port) => ({
    name: `${port} adapters`,
    files: [`server/src/adapters/${port}/**`],
    imports: ['base', 'ports'],
  })),
  {
    name: 'application',
    files: ['server/src/application.ts'],
    imports: ['base', 'services', '@berth/payment-sandbox', ...featureNames],
  },
  {
    name: 'wiring',
    files: ['server/src/{choose-adapters,create-application,payment-sandbox-jobs,secret-key}.ts'],
    imports: ['application', '@berth/payment-sandbox', ...adapterNames, ...featureNames, ...base],
  },
  {
    name: 'server',
    files: ['server/src/{admin,main,processes,server,startup-checks,worker}.ts'],
    imports: ['wiring', 'application', ...featureNames, ...base],
  },
  { name: 'contract', files: ['server/src/contract.ts'], imports: ['base', 'http', ...featureNames] },
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
  'usage',
]

const consoleLayers: readonly Layer[] = [
  { name: 'console base', files: ['console/src/{class-names,format,theme}*.ts'], imports: [] },
  { name: 'console routing', files: ['console/src/routing/**'], imports: [] },
  { name: 'console text', files: ['console/src/text/**'], imports: ['contract'] },
  { name: 'console api', files: ['console/src/api/**'], imports: ['contract', 'console text'] },
  {
    name: 'console components',
    files: ['console/src/components/**'],
    imports: ['console base', 'console routing', 'console text', 'console api'],
  },
  { name: 'console domain', files: ['console/src/domain/**'], imports: ['contract', ...consoleParts] },
  {
    name: 'console shell',
    files: ['console/src/shell/**'],
    imports: ['contract', 'console domain', ...consoleParts],
  },
  ...consoleFeatures.map((name) => ({
    name: `console ${name}`,
    files: [`console/src/features/${name}/**`],
    imports: ['contract', 'console domain', ...consoleParts],
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

/** Every layer. Files under a `src` folder belong to the first layer that names them; files of no layer import freely. */
export const layers: readonly Layer[] = [
  ...server,
  ...consoleLayers,
  { name: '@berth/payment-sandbox', files: ['@berth/payment-sandbox'], imports: [] },
  { name: 'payment sandbox', files: ['payment-sandbox/src/**'], imports: [] },
  { name: 'engine', files: ['engine/**'], imports: [] },
  { name: 'installers', files: ['scripts/suites/{python,suite}.ts'], imports: [] },
  { name: 'bench', files: ['bench/**'], imports: ['database', 'installers'] },
]

export const reserved: readonly Reserved[] = [
  {
    targets: ['server/src/http/**'],
    by: 'server/src/features/**',
    except: ['server/src/features/*/*{routes,schemas}.ts'],
    message: 'Only routes and schemas know HTTP.',
  },
  {
    targets: ['fastify', '@fastify/*'],
    by: 'server/src/**',
    except: [
      'server/src/{main,server}.ts',
      'server/src/http/**',
      'server/src/features/*/*{routes,schemas}.ts',
    ],
    message: 'Only routes and the HTTP kit know Fastify.',
  },
  {
    targets: ['server/src/features/*/*store.ts'],
    by: 'server/src/**',
    except: [],
    exceptOwnLayer: true,
    message: 'Call a use case of the feature that owns the store.',
  },
  {
    targets: ['server/src/features/*/*{routes,jobs}.ts'],
    by: 'server/src/**',
    except: ['server/src/{server,worker}.ts'],
    exceptOwnLayer: true,
    message: 'server.ts registers routes, worker.ts runs jobs.',
  },
]
