import { text } from '../../text/index.ts'

/** Why the server would refuse an alias; undefined for a valid or empty one. */
export const findAliasError = (alias: string): string | undefined =>
  /^\s*[A-Za-z0-9._:/-]{0,128}\s*$/.test(alias) ? undefined : text.instances.aliasRange
