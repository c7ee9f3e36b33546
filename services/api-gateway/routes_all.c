/* All areas of the gateway in one list; none registers itself by a constructor. */
#include "app.h"

#define AREAS(AREA)                                                                                \
    AREA(operator)                                                                                 \
    AREA(console)                                                                                  \
    AREA(project)                                                                                  \
    AREA(auth)                                                                                     \
    AREA(auth_mail)                                                                                \
    AREA(email_templates)                                                                          \
    AREA(tenant_domains)                                                                           \
    AREA(tenant_senders)                                                                           \
    AREA(mail_log)                                                                                 \
    AREA(mail_previews)                                                                            \
    AREA(auth_provider)                                                                            \
    AREA(auth_ui)                                                                                  \
    AREA(users)                                                                                    \
    AREA(me)                                                                                       \
    AREA(account)                                                                                  \
    AREA(user_sessions)                                                                            \
    AREA(user_profiles)                                                                            \
    AREA(roles)                                                                                    \
    AREA(permissions)                                                                              \
    AREA(explain)                                                                                  \
    AREA(simulate)                                                                                 \
    AREA(api_keys)                                                                                 \
    AREA(groups)                                                                                   \
    AREA(audit_log)                                                                                \
    AREA(entities)                                                                                 \
    AREA(fields)                                                                                   \
    AREA(enums)                                                                                    \
    AREA(items)                                                                                    \
    AREA(items_bulk)                                                                               \
    AREA(items_transfer)                                                                           \
    AREA(items_history)                                                                            \
    AREA(items_public)                                                                             \
    AREA(rls)                                                                                      \
    AREA(secrets)                                                                                  \
    AREA(workflows)                                                                                \
    AREA(workflow_trigger)                                                                         \
    AREA(workflow_jobs)                                                                            \
    AREA(processor_connect)                                                                        \
    AREA(processor_credentials)                                                                    \
    AREA(processor_fees)                                                                           \
    AREA(payment_settings)                                                                         \
    AREA(payments)                                                                                 \
    AREA(payments_create)                                                                          \
    AREA(payments_charge)                                                                          \
    AREA(payment_intents)                                                                          \
    AREA(payment_methods)                                                                          \
    AREA(plans)                                                                                    \
    AREA(templates)                                                                                \
    AREA(subscriptions)                                                                            \
    AREA(subscriptions_create)                                                                     \
    AREA(subscriptions_change)                                                                     \
    AREA(entitlements)                                                                             \
    AREA(options)                                                                                  \
    AREA(offers)                                                                                   \
    AREA(offer_codes)                                                                              \
    AREA(balances)                                                                                 \
    AREA(webhook_events)                                                                           \
    AREA(iap_store)                                                                                \
    AREA(iap_store_notification)                                                                   \
    AREA(push_credentials)                                                                         \
    AREA(push_devices)                                                                             \
    AREA(push_templates)                                                                           \
    AREA(push_categories)                                                                          \
    AREA(push_send)                                                                                \
    AREA(push_logs)                                                                                \
    AREA(push_taps)                                                                                \
    AREA(search)                                                                                   \
    AREA(search_admin)                                                                             \
    AREA(search_settings)                                                                          \
    AREA(search_suggest)                                                                           \
    AREA(menus)                                                                                    \
    AREA(integrations)                                                                             \
    AREA(integrations_import)                                                                      \
    AREA(integrations_run)                                                                         \
    AREA(connections)                                                                              \
    AREA(connections_oauth)                                                                        \
    AREA(menu_items)                                                                               \
    AREA(charts)                                                                                   \
    AREA(chart_image)                                                                              \
    AREA(views)                                                                                    \
    AREA(dashboards)                                                                               \
    AREA(dashboard_widgets)                                                                        \
    AREA(files)                                                                                    \
    AREA(files_upload)                                                                             \
    AREA(files_download)                                                                           \
    AREA(files_tus)                                                                                \
    AREA(folders)                                                                                  \
    AREA(storage)                                                                                  \
    AREA(realtime)                                                                                 \
    AREA(ai_config)                                                                                \
    AREA(ai_limits)                                                                                \
    AREA(ai_conversations)                                                                         \
    AREA(ai_messages)                                                                              \
    AREA(ai_workflows)                                                                             \
    AREA(ai_completions)                                                                           \
    AREA(tasks)                                                                                    \
    AREA(docs)

#define DECLARE(name) extern const struct route_table name##_table;
AREAS(DECLARE)

#define LIST(name) &name##_table,
const struct route_table *const route_tables[] = {AREAS(LIST)};
const size_t route_table_count = ARRAY_LEN(route_tables);
