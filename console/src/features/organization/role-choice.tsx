import { useId } from 'react'
import type { Member } from '../../contract.ts'
import { text } from '../../text/index.ts'

/** A choice of one role, each with what it may do. */
export function RoleChoice<Role extends Member['role']>({
  roles,
  chosen,
}: {
  roles: readonly Role[]
  chosen: Role
}) {
  const id = useId()
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-1.5 font-medium">{text.organization.role}</legend>
      {roles.map((role) => (
        <div
          key={role}
          className="relative grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 rounded-md border px-3 py-2.5 has-checked:border-accent has-checked:bg-accent-soft has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            id={`${id}-${role}`}
            aria-describedby={`${id}-${role}-hint`}
            name="role"
            value={role}
            defaultChecked={role === chosen}
            className="mt-1 accent-accent focus-visible:outline-none"
          />
          {/* Makes the whole box clickable. */}
          <label htmlFor={`${id}-${role}`} className="font-medium after:absolute after:inset-0">
            {text.shell.role[role]}
          </label>
          <p id={`${id}-${role}-hint`} className="col-start-2 text-[0.8125rem] text-muted">
            {text.organization.roles[role]}
          </p>
        </div>
      ))}
    </fieldset>
  )
}
