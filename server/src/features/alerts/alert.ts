/** A deployment that an alert is about. */
export interface AlertedDeployment {
  deployment_id: string
  /** The owner */
  user_id: number
  model_name: string
}

/** What the alerts of each type say. Amounts are decimal strings. */
export interface AlertData {
  /** A budget has reached a percentage of its limit */
  'budget.reached': {
    budget_id: number
    scope: 'organization' | 'team' | 'member' | 'deployment'
    scope_id: number | string | null
    percent: number
    spent: string
    monthly_limit: string
    currency: string
    period_start: Date
    period_end: Date
  }
  'deployment.failed': AlertedDeployment & { failure_stage: string; failure_reason: string }
  /** The last instance of a deployment that has served was lost, once until `deployment.recovered` */
  'deployment.lost': AlertedDeployment & { reason: string }
  /** It has served for ten minutes without a further failure */
  'deployment.recovered': AlertedDeployment & { lost_at: string; served_at: string | null }
  /** The compute backend has no instance of a type left, or refuses it */
  'capacity.refused': AlertedDeployment & { instance_type: string | null; reason: string }
  /** An admin tests the webhook */
  'webhook.test': Record<string, never>
}

export type AlertType = keyof AlertData

export type Alert = { [Type in AlertType]: { type: Type; data: AlertData[Type] } }[AlertType]
