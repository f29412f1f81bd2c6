/** The wire types of the API. `npm run types` derives them from openapi.json; names of their parts follow. */

import type {
  AuditLogItem,
  DeployableModel,
  Deployment,
  DeploymentStatistics,
  Member,
  operations,
  Organization,
} from '../openapi.d.ts'

export type * from '../openapi.d.ts'

export type AuditAction = AuditLogItem['action']
export type DeploymentStatus = Deployment['status']
/** What happens to the active deployments of a person who leaves an organization */
export type HandOver = NonNullable<operations['leaveOrganization']['parameters']['query']>
export type ListQuery = NonNullable<operations['listDeployments']['parameters']['query']>
export type ModelType = DeployableModel['model_type']
/** One format and size of a model, with its quantizations */
export type ModelVariant = DeployableModel['variants'][number]
type PeopleParameters = Required<NonNullable<operations['listPeople']['parameters']['query']>>
export type PeopleQuery = { [Name in keyof PeopleParameters]?: PeopleParameters[Name] | undefined }
export type Permission = Organization['permissions'][number]
export type RoleName = Member['role']
export type StatisticsWindow = DeploymentStatistics['window']
