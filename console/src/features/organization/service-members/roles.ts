import type { NewServiceMemberInput } from '../../../contract.ts'

/** The roles that a program can have */
export const serviceRoles = ['viewer', 'member'] as const satisfies NewServiceMemberInput['role'][]
