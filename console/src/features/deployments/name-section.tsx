import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { fieldErrors } from '../../components/form.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { findAliasError, findShadowed, listByOrder, parseOrder } from '../../domain/deployments/alias.ts'
import { text } from '../../text/index.ts'
import { callableDeploymentsQuery, useUpdateDeployment } from './queries.ts'

const words = text.instances

/** Names a deployment, and gives it a place among those of the same name. */
export function NameSection({ deployment }: { deployment: Deployment }) {
  const [alias, setAlias] = useState(deployment.alias ?? '')
  const [orderText, setOrderText] = useState(deployment.alias_order?.toString() ?? '')
  const change = useUpdateDeployment(deployment.id)
  const toasts = useToasts()
  const { data: callable } = useQuery(callableDeploymentsQuery)
  const shadowed = findShadowed(deployment, alias, callable?.items ?? [])
  const invalid = findAliasError(alias)
  const { alias: refused, alias_order: refusedOrder } = fieldErrors(change.error)
  const name = alias.trim() === '' ? null : alias.trim()
  const order = name === null ? null : parseOrder(orderText)
  const isSame = name === deployment.alias && order === deployment.alias_order
  const mayNotSave = invalid !== undefined || order === undefined || isSame
  return (
    <Section title={text.deploymentSettings.name}>
      <form
        noValidate
        className="grid max-w-prose gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (mayNotSave) return
          const changes = name === null ? { alias: null } : { alias: name, alias_order: order }
          change.mutate(changes, { onSuccess: () => toasts.success(text.deploymentSettings.saved) })
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
        {name !== null && (
          <TextField
            label={words.aliasOrder}
            hint={words.aliasOrderHint}
            error={order === undefined ? words.aliasOrderRange : refusedOrder}
            autoComplete="off"
            inputMode="numeric"
            value={orderText}
            onChange={({ target }) => {
              change.reset()
              setOrderText(target.value)
            }}
          />
        )}
        {name !== null && order !== undefined && (
          <SharedName
            changed={{ ...deployment, alias: name, alias_order: order }}
            callable={callable?.items}
          />
        )}
        {name !== deployment.alias && shadowed.length > 0 && (
          <p role="status" className="text-[0.8125rem] text-muted">
            {words.shadows(shadowed.map(({ model_name: model, owner }) => `${model} (${owner.name})`))}
          </p>
        )}
        {refused === undefined && refusedOrder === undefined && <ErrorMessage error={change.error} />}
        <Button type="submit" className="justify-self-start" busy={change.isPending} disabled={mayNotSave}>
          {text.common.save}
        </Button>
      </form>
    </Section>
  )
}

/** Says which deployments get requests by a name that several have. */
function SharedName({
  changed,
  callable = [],
}: {
  changed: Deployment
  callable: readonly Deployment[] | undefined
}) {
  const list = listByOrder(changed, callable)
  if (list.length === 1) return null
  const isOrdered = list.some(({ alias_order: order }) => order !== null)
  const places = list.map(({ id, model_name: model, alias_order: order }) =>
    isOrdered ? words.placeOfAlias(model, order, id === changed.id) : model,
  )
  return (
    <p role="status" className="text-[0.8125rem] text-muted">
      {isOrdered ? words.sharesAlias(places) : words.spreadsAlias(places)}
    </p>
  )
}
