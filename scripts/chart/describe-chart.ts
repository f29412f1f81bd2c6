import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { settingNames } from '../../server/src/config/config.ts'

const root = resolve(import.meta.dirname, '../..')
/** The Helm chart */
export const chartFolder = join(root, 'deploy/helm/berth')
/** What `kubectl apply -k` applies: the chart with its default values, without hooks */
export const renderedFile = join(root, 'deploy/kubernetes/berth.yaml')
export const schemaFile = join(chartFolder, 'values.schema.json')

/** What the templates set */
const fixed = /^(?:ROLE|HOST|PORT|METRICS_PORT|DATA_DIR|RUNTIME|KUBECONFIG|KUBERNETES_NAMESPACE)$/
/** What belongs into the Secret */
const secret =
  /^(?:SECRET_KEY|PREVIOUS_SECRET_KEY|DATABASE_URL|MAIL_URL|ALERT_WEBHOOK_URL|XINFERENCE_URLS|HF_TOKEN|\w+_SECRET|\w+_SECRET_KEY)$/

/** The settings that the chart's values may have. */
export function listChartSettings(): string[] {
  return settingNames.filter((name) => !fixed.test(name) && !secret.test(name))
}

/** The schema of the values, formatted, with the names of these settings. */
export function updateSchema(schema: string): string {
  const names = listChartSettings().map((name) => `          "${name}"`)
  return schema.replace(/(?<="propertyNames": \{\s*"enum": )\[[^\]]*\]/, `[\n${names.join(',\n')}\n        ]`)
}

/** The first line of the rendered file, which tells the version of the chart. */
export function describeRendering(): string {
  const files = ['Chart.yaml', 'values.yaml', ...globSync('templates/*', { cwd: chartFolder }).toSorted()]
  const digest = createHash('sha256')
  for (const file of files) digest.update(`${file}\n${readFileSync(join(chartFolder, file), 'utf8')}`)
  return `# Rendered from deploy/helm/berth by \`npm run chart\`: ${digest.digest('hex').slice(0, 16)}`
}
