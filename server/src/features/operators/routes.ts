import type { App } from '../../http/app.ts'
import { pageQuery } from '../../http/schemas.ts'
import type { Services } from '../../services.ts'
import { examine } from './doctor.ts'
import { readHealth, TargetWatch } from './read-health.ts'
import {
  listOrganizationFacts,
  listWaiting,
  readMachines,
  readOrganization,
  readWeights,
} from './read-installation.ts'
import {
  findingsBody,
  healthBody,
  installationWeightsBody,
  machinesBody,
  organizationDetailBody,
  organizationDetailParams,
  organizationsBody,
  toFindingsBody,
  toHealthBody,
  toInstallationWeightsBody,
  toMachinesBody,
  toOrganizationDetail,
  toOrganizationFacts,
  toWaitingBody,
  waitingBody,
} from './schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'mailer' | 'payments' | 'runtimes'>

const config = { permission: null, admitsServices: false, operatorsOnly: true } as const
const tags = ['Operators']

/** What operators see of the whole installation. */
export function operatorRoutes(app: App, deps: Deps): void {
  const targets = new TargetWatch(deps)
  app.get(
    '/v1/installation/machines',
    {
      config,
      schema: {
        operationId: 'getMachines',
        summary: 'Get the hardware of the installation, its engines, and what runs there',
        tags,
        response: { 200: machinesBody },
        errors: ['runtime_unavailable'],
      },
    },
    async () => toMachinesBody(await readMachines(deps)),
  )
  app.get(
    '/v1/installation/waiting',
    {
      config,
      schema: {
        operationId: 'getWaiting',
        summary: 'List what waits for hardware, and why',
        tags,
        response: { 200: waitingBody },
      },
    },
    async () => toWaitingBody(await listWaiting(deps)),
  )
  app.get(
    '/v1/installation/weights',
    {
      config,
      schema: {
        operationId: 'getInstallationWeights',
        summary: 'List the weights on the disk of the server',
        tags,
        response: { 200: installationWeightsBody },
      },
    },
    async () => toInstallationWeightsBody(await readWeights(deps)),
  )
  app.get(
    '/v1/installation/health',
    {
      config,
      schema: {
        operationId: 'getInstallationHealth',
        summary: 'Get the state of background work, of usage, and of the servers that Berth uses',
        tags,
        response: { 200: healthBody },
      },
    },
    async () => toHealthBody(await readHealth(deps, targets)),
  )
  app.get(
    '/v1/installation/organizations',
    {
      config,
      schema: {
        operationId: 'listInstallationOrganizations',
        summary: 'List the organizations with their members, running deployments and cost',
        tags,
        querystring: pageQuery,
        response: { 200: organizationsBody },
      },
    },
    async ({ query }) => {
      const { items, total } = await listOrganizationFacts(deps, query)
      const { currency } = deps.config.billing
      return { items: items.map((facts) => toOrganizationFacts(facts, currency)), total, ...query }
    },
  )
  app.get(
    '/v1/installation/organizations/:organization_id',
    {
      config,
      schema: {
        operationId: 'getInstallationOrganization',
        summary: 'Get an organization with its instances',
        description: 'Each read is in the audit log of the organization.',
        tags,
        params: organizationDetailParams,
        response: { 200: organizationDetailBody },
        errors: ['not_found'],
      },
    },
    async ({ params, viewer }) =>
      toOrganizationDetail(
        await readOrganization(deps, viewer, params.organization_id),
        deps.config.billing.currency,
      ),
  )
  app.get(
    '/v1/installation/findings',
    {
      config,
      schema: {
        operationId: 'getFindings',
        summary: 'Get what `npm run admin -- doctor` finds',
        tags,
        response: { 200: findingsBody },
      },
    },
    async () => toFindingsBody(await examine(deps)),
  )
}
