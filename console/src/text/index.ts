/** Every English sentence of the console, by area; another language would be another such object. */
import { billing } from './billing.ts'
import { catalog } from './catalog.ts'
import { common } from './common.ts'
import { deployments } from './deployments.ts'
import { doors } from './doors.ts'
import { errors } from './errors.ts'
import { organization } from './organization.ts'
import { playground } from './playground.ts'
import { profile } from './profile.ts'
import { shell } from './shell.ts'
import { usage } from './usage.ts'

export const text = {
  billing,
  catalog,
  common,
  deployments,
  doors,
  errors,
  organization,
  playground,
  profile,
  shell,
  usage,
}
