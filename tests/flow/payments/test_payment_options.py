"""/payment-options: the payment providers that a client may offer to its user."""
import pytest


OPTIONS = "/integrations/svcpay/payment-options"




def options(client, **query):
    text = "&".join(f"{name}={value}" for name, value in query.items())
    return client.get(f"{OPTIONS}?{text}" if text else OPTIONS, expect=200).json()


@pytest.mark.parametrize("query, storefront", [
    ({}, None), ({"platform": "ios"}, None), ({"platform": "ios", "storefront": "USA"}, "USA"),
    ({"platform": "ios", "storefront": "de"}, "DEU"), ({"platform": "android", "storefront": "jpn"}, "JPN"),
    ({"platform": "web", "storefront": "BO"}, "BOL"), ({"platform": "ios", "storefront": "XKX"}, "XKX")])
def test_without_a_store_there_is_the_web_alone(shared_project, query, storefront):
    assert options(shared_project.admin, **query) == {
        "primary_provider": "processor_web", "providers": ["processor_web"], "web_checkout_allowed": True,
        "storefront": storefront}


@pytest.mark.parametrize("query", ["platform=windows", "platform=", "storefront=XX", "storefront=Bolivia", "storefront=U",
                                   "country=US", "platform=ios&platform=web"])
def test_bad_queries(shared_project, query):
    shared_project.admin.get(f"{OPTIONS}?{query}", expect=400)


def test_who_may(project):
    project.user_with("svc_subscription_plans:read").get(OPTIONS, expect=200)
    project.user().get(OPTIONS, expect=403)
