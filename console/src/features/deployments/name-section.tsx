import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { fieldErrors } from '../../components/form.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { findAliasError, findShadowed } from '../../domain/deployments/alias.ts'
import { text } from '../../text/index.ts'
import { callableDeploymentsQuery, useUpdateDeployment } from './queries.ts'

const words = text.instances

/** Names a deployment. */
export function NameSection({ deployment }: { deployment: Deployment }) {
  const [alias, setAlias] = useState(deployment.alias ?? '')
  const change = useUpdateDeployment(deployment.id)
  const toasts = useToasts()
  const { data: callable } = useQuery(callableDeploymentsQuery)
  const shadowed = findShadowed(deployment, alias, callable?.items ?? [])
  const invalid = findAliasError(alias)
  const refused = fieldErrors(change.error)['alias']
  const name = alias.trim() === '' ? null : alias.trim()
  return (
    <Section title={text.deploymentSettings.name}>
      <form
        noValidate
        className="grid max-w-prose gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (invalid !== undefined || name === deployment.alias) return
          change.mutate({ alias: name }, { onSuccess: () => toasts.success(text.deploymentSettings.saved) })
        }}
      >
        <TextField
          label={words.alias}
          hint={words.aliasHint}
          placeholder={deployment.model_name}
          error={invalid ?? refused}
          autoComplete="off"
          spellCheck={false}
          value={alias}
          onChange={({ target }) => {
            change.reset()
            setAlias(target.value)
          }}
        />
        {name !== deployment.alias && shadowed.length > 0 && (
          <p role="status" className="text-[0.8125rem] text-muted">
            {words.shadows(shadowed.map(({ model_name: model, owner }) => `${model} (${owner.name})`))}
          </p>
        )}
        {refused === undefined && <ErrorMessage error={change.error} />}
        <Button
          type="submit"
          className="justify-self-start"
          busy={change.isPending}
          disabled={invalid !== undefined || name === deployment.alias}
        >
          {text.common.save}
        </Button>
      </form>
    </Section>
  )
}
